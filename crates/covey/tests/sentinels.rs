//! No largest number of a type stands for "none" where policies, sharing rules and state are.
//!
//! `Option`, or [`OptionalIndex`](covey_core::OptionalIndex) where four bytes have to do, says
//! "none" in the type. Uses of `u16::MAX`, `u32::MAX` and `usize::MAX` that mean something else, or
//! that have to stay, are in [`ALLOWED`], with the reason. Modules of tests do not count, and what
//! is in a macro's arguments does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::visit::Visit;

use crate::circles::is_of_tests;

/// Files in `crates`, how often they use such a number, and why they may.
const ALLOWED: [(&str, usize, &str); 9] = [
    ("covey-alloc/src/kept/asleep.rs", 1, "the largest number that has room"),
    ("covey-alloc/src/kept/target.rs", 1, "all flows are of no coflow, and `checked` refuses them"),
    ("covey-core/src/fabric/graph.rs", 2, "two bytes for each pair of nodes; a count in an error"),
    ("covey-core/src/state/attempts.rs", 1, "the end of a range"),
    ("covey-core/src/values/optional_index.rs", 1, "the definition of an index that may be none"),
    ("covey-sched/src/aalo_local.rs", 1, "as many as there are"),
    ("covey-sched/src/coda/identified.rs", 1, "a new flow has its coflow before the call is over"),
    ("covey-sched/src/philae.rs", 2, "the largest value of a parameter"),
    ("covey-sched/src/runs/labels.rs", 1, "after all ranks"),
];

/// Counts the uses in a file.
#[derive(Default)]
struct Uses(usize);

impl<'ast> Visit<'ast> for Uses {
    fn visit_expr_path(&mut self, expression: &'ast syn::ExprPath) {
        let names = expression.path.segments.iter().map(|segment| segment.ident.to_string());
        let names: Vec<String> = names.collect();
        let [.., of, max] = &names[..] else { return };
        let is_index = ["u16", "u32", "usize"].contains(&of.as_str());
        self.0 += usize::from(is_index && max == "MAX");
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_of_tests) {
            syn::visit::visit_item_mod(self, module);
        }
    }
}

/// How often a file uses such a number.
fn uses(text: &str) -> usize {
    let mut uses = Uses::default();
    uses.visit_file(&syn::parse_file(text).expect("a source file"));
    uses.0
}

/// Adds the files of a folder that use such numbers, by their paths in `crates`.
fn collect(crates: &Path, folder: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            collect(crates, &path, found);
        } else if name.ends_with(".rs") && !name.contains("test") {
            let count = uses(&fs::read_to_string(&path).expect("text"));
            let within = path.strip_prefix(crates).expect("it is in it").to_string_lossy();
            if count > 0 {
                found.insert(within.replace('\\', "/"), count);
            }
        }
    }
}

#[test]
fn no_largest_number_stands_for_none() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for name in ["covey-alloc", "covey-core", "covey-sched"] {
        collect(&crates, &crates.join(name).join("src"), &mut found);
    }
    let allowed = ALLOWED.iter().map(|(file, count, _)| ((*file).to_owned(), *count));
    assert_eq!(
        found,
        allowed.collect(),
        "left: uses of u16::MAX, u32::MAX and usize::MAX; right: those that are allowed. Say \"none\" \
         by Option or OptionalIndex; a use that means something else goes into ALLOWED"
    );
}

#[test]
fn uses_in_tests_and_of_other_types_do_not_count() {
    assert_eq!(uses("fn f() -> u32 { if g() { u32::MAX } else { std::usize::MAX as u32 } }"), 2);
    assert_eq!(
        uses("const A: u64 = u64::MAX; #[cfg(test)] mod tests { const B: u32 = u32::MAX; }"),
        0
    );
}
