//! Buckets of stores that speak the protocol of Amazon's S3. Credentials and the endpoint come from the environment, under the names that
//! Amazon's own tools use, and from nowhere else: no file is read, and no machine is asked for its role unless a variable says where.

use std::env;
use std::error::Error as _;
use std::time::Duration;

use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder};

use crate::error::Error;

/// A store that does not answer is asked again so often, and for so long: people wait.
const RETRIES: usize = 3;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// Variables of which one says where credentials come from, if not from a key: a token's file, a container's, an instance's role, or none at all.
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

/// What the environment lacks, where `set` says which variables have a value.
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

/// What the store said, in a few words: the code and message in its answer, where it has them, else what the connection met at last.
pub(crate) fn said(error: &object_store::Error) -> String {
    let whole = error.to_string();
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    let distrust = causes.find(|cause| cause.to_string().contains(CERTIFICATE));
    if let Some(distrust) = distrust {
        return distrust.to_string();
    }
    let element = |name: &str| {
        let (_, rest) = whole.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.trim().to_owned())
    };
    match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => format!("{code}: {}", message.trim_end_matches('.')),
        (Some(code), None) => code,
        _ => whole.lines().next().unwrap_or_default().to_owned(),
    }
}

/// In what is said of a server that cannot show who it is.
const CERTIFICATE: &str = "certificate";

/// What to do about it.
pub(crate) fn advice(said: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["NoSuchBucket"]) {
        "see the name of the bucket, and AWS_REGION and AWS_ENDPOINT_URL"
    } else if has(&[
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "InvalidToken",
    ]) {
        "see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and for a temporary key AWS_SESSION_TOKEN"
    } else if has(&["ExpiredToken", "TokenRefreshRequired", "RequestExpired"]) {
        "the temporary key is no longer valid: get a new one, and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
    } else if has(&["RequestTimeTooSkewed"]) {
        "this machine's clock is wrong: set it"
    } else if has(&[CERTIFICATE]) {
        "the store does not show who it is: see AWS_ENDPOINT_URL; where an authority of one's own vouches for it, have this machine trust that, or name its certificate's file by SSL_CERT_FILE"
    } else if has(&["AccessDenied", "403"]) {
        "the key may not read it: its owner has to allow s3:ListBucket on the bucket and s3:GetObject on its objects"
    } else if has(&[
        "redirect",
        "PermanentRedirect",
        "AuthorizationHeaderMalformed",
    ]) {
        "the bucket is in another region: set AWS_REGION"
    } else {
        "see whether the store can be reached: AWS_ENDPOINT_URL, AWS_REGION, and the network"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let lack = |variables: &[&str]| lacks(&|name| variables.contains(&name));
        assert_eq!(lack(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]), None);
        assert_eq!(lack(&["AWS_SKIP_SIGNATURE"]), None);
        let one = lack(&["AWS_ACCESS_KEY_ID"]).unwrap();
        assert!(one.contains("AWS_SECRET_ACCESS_KEY is not"), "{one}");
        assert!(lack(&["AWS_REGION"]).unwrap().contains("no credentials"));
    }

    #[test]
    fn answers_of_a_store_are_read() {
        let source = "404 Not Found: <Error><Code>NoSuchBucket</Code><Message>It does not exist.</Message></Error>";
        let error = object_store::Error::Generic {
            store: "S3",
            source: source.into(),
        };
        assert_eq!(said(&error), "NoSuchBucket: It does not exist");
        assert!(advice(&said(&error)).contains("name of the bucket"));
        assert!(advice("error sending request").contains("AWS_ENDPOINT_URL"));
    }
}
