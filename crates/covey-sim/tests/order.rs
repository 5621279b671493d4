//! `order` with the key of a policy is that policy, to the last digit. `sebf` alone differs in
//! near-ties: it takes times within a nanosecond as equal, `order` values within 10⁻⁹ of the
//! smaller one. Workloads of [`Kind::Generic`] have no such ties.

use crate::common::{Kind, cases, ccts, run};
use covey_sched::build;
use proptest::prelude::*;

/// Formulas, and the policies that they are.
const SAME: [(&str, &str); 5] = [
    ("order:by=arrival", "fifo"),
    ("order:by=0*sent", "fifo"),
    ("order:by=left", "lcf"),
    ("order:by=longest", "scf"),
    ("order:by=bottleneck", "sebf"),
];

/// A policy that the names of its formula make clairvoyant, and one that they do not.
#[test]
fn names_decide_what_it_knows() {
    let knows = |spec: &str| build(spec).map(|built| built.policy.knows());
    assert_eq!(knows("order:by=width*sent"), Ok("unsized"));
    assert_eq!(knows("order:by=width*left"), Ok("sized"));
    let error = knows("order:by=width*lefd").unwrap_err().to_string();
    assert!(error.starts_with("policy order: by=width*lefd: expected at column 7 one of arrival"));
    assert!(error.ends_with("; did you mean 'left'?"), "{error}");
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_formula_is_the_policy_with_its_key(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        for (formula, policy) in SAME {
            let (ours, its) = (run(&workload, &fabric, formula), run(&workload, &fabric, policy));
            prop_assert_eq!(ccts(&ours), ccts(&its), "{} is not {}", formula, policy);
        }
    }

    /// What is no number goes last, whatever its sign is on this machine.
    #[test]
    fn a_formula_without_a_value_is_order_of_arrival(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        let fifo = ccts(&run(&workload, &fabric, "fifo"));
        for formula in ["order:by=0/0", "order:by=-(0/0)", "order:by=log(-1)", "order:by=1/0"] {
            prop_assert_eq!(&ccts(&run(&workload, &fabric, formula)), &fifo, "{}", formula);
        }
    }
}
