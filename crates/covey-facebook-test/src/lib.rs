//! Attributes for tests that need the public Facebook trace, or event logs of Spark, which are not
//! part of the project.
//!
//! Without the data these tests are ignored, and the output of the tests gives the reason. Only
//! tests depend on this crate, because cargo looks for missing data in each build of a dependent
//! crate.

use proc_macro::TokenStream;

/// The reason why a test is ignored if the trace is absent.
const ABSENT: &str = "\"needs the public Facebook trace as ../shared/data/FB2010-1Hr-150-0.txt beside \
    the checkout; README.md says where it comes from\"";

/// The same of the event logs.
const NO_LOGS: &str =
    "\"needs event logs of Spark, with their sums, as ../shared/data/spark beside the checkout\"";

/// Replaces `#[test]` for a test that reads the event logs of Spark in `../shared/data/spark`.
#[proc_macro_attribute]
pub fn spark_logs_test(ignored: TokenStream, test: TokenStream) -> TokenStream {
    mark(cfg!(spark_logs), NO_LOGS, &ignored, test)
}

/// Replaces `#[test]` for a test that reads the Facebook trace.
///
/// `#[facebook_test("takes minutes; make slow WHAT=ignored")]` is ignored for this reason even if
/// the trace is present.
#[proc_macro_attribute]
pub fn facebook_test(ignored: TokenStream, test: TokenStream) -> TokenStream {
    mark(cfg!(facebook_trace), ABSENT, &ignored, test)
}

fn mark(is_present: bool, absent: &str, ignored: &TokenStream, test: TokenStream) -> TokenStream {
    let attributes = attributes(is_present, absent, &ignored.to_string());
    let mut marked: TokenStream = attributes.parse().expect("attributes");
    marked.extend(test);
    marked
}

/// The attributes of a test. `ignored` is the reason for ignoring it in quotation marks, or empty;
/// `absent` the one where the data is absent.
fn attributes(is_present: bool, absent: &str, ignored: &str) -> String {
    let ignored = if is_present { ignored } else { absent };
    match ignored {
        "" => "#[test]".to_owned(),
        reason => format!("#[test] #[ignore = {reason}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_trace_a_test_is_ignored_with_the_reason() {
        for ignored in ["", "\"takes minutes\""] {
            let attributes = attributes(false, ABSENT, ignored);
            assert!(attributes.starts_with("#[test] #[ignore = \"needs the public Facebook trace"));
        }
    }

    #[test]
    fn with_the_trace_only_slow_tests_are_ignored() {
        assert_eq!(attributes(true, ABSENT, ""), "#[test]");
        assert_eq!(attributes(true, ABSENT, "\"slow\""), "#[test] #[ignore = \"slow\"]");
    }
}
