//! Where tables lie: a directory, or a part of a bucket.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;

use crate::error::Error;
use crate::s3;

/// The place that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory.
    Directory(PathBuf),
    /// Objects whose keys begin with a prefix.
    Bucket {
        /// The bucket.
        bucket: String,
        /// Without slashes around it; nothing for the whole bucket.
        prefix: String,
    },
}

/// A place that can be read.
pub(crate) struct Opened {
    /// Reads it.
    pub store: Arc<dyn ObjectStore>,
    /// The engine's name of the store.
    pub url: ObjectStoreUrl,
    /// Above the tables.
    pub root: Key,
}

impl Place {
    /// `s3://BUCKET/PREFIX`, or the path of a directory.
    ///
    /// # Errors
    /// It is another address, or none of a bucket.
    pub fn parse(text: &str) -> Result<Place, Error> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Place::Directory(text.into()));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        match (scheme, bucket) {
            ("s3", "") => Err(Error::Usage(format!(
                "{text} names no bucket: write s3://BUCKET/PREFIX, with the prefix that is above the tables"
            ))),
            ("s3", _) => Ok(Place::Bucket {
                bucket: bucket.to_owned(),
                prefix: prefix.trim_matches('/').to_owned(),
            }),
            _ => Err(Error::Usage(format!(
                "{scheme}:// is not read: name a directory, or s3://BUCKET/PREFIX; an engine that knows {scheme}:// runs the files of sql/"
            ))),
        }
    }

    /// Makes the place readable.
    ///
    /// # Errors
    /// There is no such directory, or the environment does not say how the bucket is reached.
    pub(crate) fn open(&self) -> Result<Opened, Error> {
        match self {
            Place::Directory(path) => self.open_directory(path),
            Place::Bucket { bucket, prefix } => {
                let url = ObjectStoreUrl::parse(format!("s3://{bucket}"));
                let url = url.map_err(|_| {
                    Error::Usage(format!("{bucket} is no name of a bucket: see its spelling"))
                })?;
                Ok(Opened {
                    store: Arc::new(s3::open(bucket)?),
                    url,
                    root: Key::parse(prefix)
                        .map_err(|error| Error::store(self.to_string(), error.into()))?,
                })
            }
        }
    }

    fn open_directory(&self, path: &Path) -> Result<Opened, Error> {
        let unreadable = |source| Error::Unreadable {
            path: path.to_owned(),
            source,
        };
        fs::read_dir(path).map_err(unreadable)?;
        let absolute = fs::canonicalize(path).map_err(unreadable)?;
        let root = Key::from_absolute_path(absolute)
            .map_err(|error| unreadable(io::Error::other(error)))?;
        Ok(Opened {
            store: Arc::new(LocalFileSystem::new()),
            url: ObjectStoreUrl::local_filesystem(),
            root,
        })
    }

    /// An object of the place as the user would name it.
    pub(crate) fn name(&self, root: &Key, key: &Key) -> String {
        let parts = key.prefix_match(root);
        let below = parts.map(|parts| parts.map(|part| part.as_ref().to_owned()).collect());
        let below: Vec<String> = below.unwrap_or_default();
        format!("{self}/{}", below.join("/"))
    }

    /// The command that adds recordings to it.
    pub(crate) fn how_to_add(&self) -> String {
        match self {
            Place::Directory(_) => {
                format!(
                    "add recordings to it with `evenkeel export RECORDING.keel --format parquet -o {self}`"
                )
            }
            Place::Bucket { .. } => format!(
                "copy a directory there that `evenkeel export RECORDING.keel --format parquet -o DIR` wrote, for one with `aws s3 sync DIR {self}`; the address ends above the tables"
            ),
        }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Place::Directory(path) => write!(f, "{}", path.display()),
            Place::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Place::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let bucket = |text: &str| match Place::parse(text).unwrap() {
            Place::Bucket { bucket, prefix } => (bucket, prefix),
            other => panic!("{other:?}"),
        };
        assert_eq!(bucket("s3://b"), ("b".into(), String::new()));
        assert_eq!(bucket("s3://b/one/two/"), ("b".into(), "one/two".into()));
        let directory = Place::parse("s3/fleet").unwrap();
        assert_eq!(directory, Place::Directory("s3/fleet".into()));
        for (text, said) in [
            ("s3://", "no bucket"),
            ("s3:///a", "no bucket"),
            ("gs://b", "gs://"),
        ] {
            let error = Place::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
