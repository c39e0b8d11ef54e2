//! Buckets of stores with the protocol of Amazon's S3. Credentials and the endpoint come only from the environment,
//! under the names that Amazon's own tools use. No file is read, and no machine is asked for its role unless a
//! variable names it.

use std::env;
use std::time::Duration;

use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder};

use crate::error::Error;

/// A store that does not answer is asked again so often, and for so long: people wait.
const RETRIES: usize = 3;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// Variables that name another source of credentials than a key: a token's file, a container's, an instance's role,
/// or none at all.
const OTHER_CREDENTIALS: [&str; 5] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
];

/// A bucket.
///
/// # Errors
/// The environment lacks what is needed, and what it lacks.
pub(crate) fn open(bucket: &str) -> Result<AmazonS3, Error> {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    lacks(&set).map_or(Ok(()), |lack| Err(Error::Usage(lack)))?;
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
        let endpoint = env::var(name).unwrap_or_default();
        if endpoint.starts_with("http://") && !allows_http() {
            return Err(Error::Usage(format!(
                "{name} is {endpoint}, which does not encrypt: take https://, or set AWS_ALLOW_HTTP=true"
            )));
        }
    }
    let retry = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_TIMEOUT,
        ..RetryConfig::default()
    };
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let built = builder.with_retry(retry).build();
    built.map_err(|source| Error::store(format!("s3://{bucket}"), source))
}

fn allows_http() -> bool {
    let value = env::var("AWS_ALLOW_HTTP").unwrap_or_default();
    ["true", "1", "yes", "on"].contains(&value.to_lowercase().as_str())
}

/// The missing part of the environment; `set` says which variables have a value.
fn lacks(set: &dyn Fn(&str) -> bool) -> Option<String> {
    let [key, secret] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    match (set(key), set(secret)) {
        (true, true) => None,
        (true, false) => Some(format!("{key} is set and {secret} is not: set both")),
        (false, true) => Some(format!("{secret} is set and {key} is not: set both")),
        (false, false) if OTHER_CREDENTIALS.iter().any(|name| set(name)) => None,
        (false, false) => Some(format!(
            "there are no credentials in the environment: set {key} and {secret} (and AWS_REGION, or AWS_ENDPOINT_URL for a store that is not Amazon's), or AWS_SKIP_SIGNATURE=true where a bucket is public"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_variables_are_named() {
        let lack = |variables: &[&str]| lacks(&|name| variables.contains(&name));
        assert_eq!(lack(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]), None);
        assert_eq!(lack(&["AWS_SKIP_SIGNATURE"]), None);
        let one = lack(&["AWS_ACCESS_KEY_ID"]).unwrap();
        assert!(one.contains("AWS_SECRET_ACCESS_KEY is not"), "{one}");
        assert!(lack(&["AWS_REGION"]).unwrap().contains("no credentials"));
    }
}
