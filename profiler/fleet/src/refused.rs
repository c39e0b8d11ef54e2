//! Refusals of a store, and remedies.

use std::error::Error as _;

/// The store's error, in a few words: the code and message in its answer, or the last error of the connection.
pub(crate) fn said(error: &object_store::Error) -> String {
    let whole = error.to_string();
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
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

/// Part of the error of a server that cannot prove its identity.
const CERTIFICATE: &str = "certificate";

/// The remedy.
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
        "the store's certificate is not trusted: check AWS_ENDPOINT_URL. For a private authority, add it to this machine's trusted ones, or name its certificate's file in SSL_CERT_FILE"
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
