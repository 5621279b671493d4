//! Policies of other crates in the registry. The registry is one for a process, and so this file
//! has one test.

#[path = "../../../examples/own-policy/src/least_served.rs"]
mod least_served;

use covey_sched::{Info, build, extend, find, policies};

#[test]
fn a_policy_of_another_crate_has_a_name() {
    let refused = |info: Info| extend(&[info]).unwrap_err().to_string();
    for (name, what) in [
        ("sebf", "there is a policy 'sebf'"),
        ("SRTF", "policy 'SRTF': expected a name of small letters, digits and '-'"),
        ("srtf", "there is a policy 'srtf'"),
        ("", "policy '': expected a name of small letters, digits and '-'"),
        ("a:b", "policy 'a:b': expected a name of small letters, digits and '-'"),
    ] {
        assert_eq!(refused(Info { name, ..least_served::INFO }), what);
    }
    let twice = extend(&[least_served::INFO, least_served::INFO]).unwrap_err();
    assert_eq!(twice.to_string(), "there is a policy 'least-served'");

    extend(&[least_served::INFO]).unwrap();
    assert_eq!(policies().last().map(|info| info.name), Some("least-served"));
    let built = build("least-served:step=2MB,compress=lz4").unwrap();
    assert_eq!(built.params[0], ("step".to_owned(), "2MB".to_owned()));
    let wrong = build("least-served:step=0").err().unwrap().to_string();
    assert!(wrong.starts_with("policy least-served: step=0: expected a size"), "{wrong}");
    let wrong = find("lest-served").err().unwrap().to_string();
    assert!(wrong.ends_with("did you mean 'least-served'?"), "{wrong}");

    // Whoever has asked would not know of it.
    let late = extend(&[Info { name: "late", ..least_served::INFO }]).unwrap_err();
    assert_eq!(late.to_string(), "policies are added before the first is asked for");
}
