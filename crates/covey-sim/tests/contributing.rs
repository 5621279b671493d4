//! CONTRIBUTING.md shows `own_policy.rs`, which is compiled and run as a test. Markdown cannot
//! include a file, so there are two copies of the text; this test keeps them equal.

#[test]
fn contributing_shows_the_policy_that_is_compiled() {
    let example = include_str!("own_policy.rs");
    let shown = format!("```rust\n{example}```\n");
    assert!(
        include_str!("../../../CONTRIBUTING.md").contains(&shown),
        "copy crates/covey-sim/tests/own_policy.rs into CONTRIBUTING.md"
    );
    assert!(example.lines().count() < 40, "the example is to stay under 40 lines");
}
