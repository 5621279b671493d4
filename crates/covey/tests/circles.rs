//! No modules of a crate use each other in a circle.
//!
//! A module uses another one if
//! - it imports an item that the other one defines. An import through a re-export counts for the
//!   module that defines the item: `use super::X` is an import of the parent only if the parent
//!   itself defines X;
//! - it imports the other module by name, as in `use crate::alloc`, or all that is in it (`*`);
//! - a field, a parameter or a result has a type of the other module.
//!
//! Paths that are written out in the body of a function do not count. Modules of tests do not count
//! either.
//!
//! So a `mod.rs` or `lib.rs` that only declares and re-exports is in no circle. It is in a circle
//! if it defines an item that its children import, and uses its children.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Attribute, File, Item, UseTree};

/// The number of a module in [`Modules`]. The crate's root is 0.
type Module = usize;

/// What a path leads to.
#[derive(Clone, Copy)]
enum Target {
    Module(Module),
    /// An item that this module defines.
    ItemOf(Module),
}

/// A module: its names, and the paths it uses.
#[derive(Default)]
struct Names {
    path: String,
    parent: Module,
    children: BTreeMap<String, Module>,
    items: BTreeSet<String>,
    /// A name and the path that is imported by it.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules of which all is imported.
    globs: Vec<Vec<String>>,
    /// Types of fields, parameters and results.
    types: Vec<Vec<String>>,
}

/// The modules of a crate.
#[derive(Default)]
struct Modules(Vec<Names>);

impl Modules {
    /// Reads a crate from its root file. `read` gives a file's text, if there is such a file.
    fn read(root: &Path, read: &impl Fn(&Path) -> Option<String>) -> Self {
        let mut modules = Modules(vec![Names { path: "crate".to_owned(), ..Names::default() }]);
        let folder = root.parent().expect("a root file is in a folder");
        modules.file(0, root, folder, read);
        modules
    }

    /// Reads the file of a module; files of its children are in `folder`.
    fn file(
        &mut self,
        module: Module,
        path: &Path,
        folder: &Path,
        read: &impl Fn(&Path) -> Option<String>,
    ) {
        let text = read(path).unwrap_or_else(|| panic!("{} cannot be read", path.display()));
        let File { items, .. } =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.items(module, items, folder, read);
    }

    fn items(
        &mut self,
        module: Module,
        items: Vec<Item>,
        folder: &Path,
        read: &impl Fn(&Path) -> Option<String>,
    ) {
        for item in items {
            if attributes(&item).iter().any(is_of_tests) {
                continue;
            }
            Types(&mut self.0[module].types).visit_item(&item);
            match item {
                Item::Mod(item) => {
                    let name = item.ident.to_string();
                    let child = self.add(module, &name);
                    let inside = folder.join(&name);
                    match item.content {
                        Some((_, items)) => self.items(child, items, &inside, read),
                        None => {
                            let files = [folder.join(format!("{name}.rs")), inside.join("mod.rs")];
                            let is_there = |file: &&PathBuf| read(file).is_some();
                            let file = files.iter().find(is_there).unwrap_or(&files[0]);
                            self.file(child, file, &inside, read);
                        }
                    }
                }
                Item::Use(item) => self.import(module, item.tree, Vec::new()),
                item => self.0[module].items.extend(name(&item)),
            }
        }
    }

    fn add(&mut self, parent: Module, name: &str) -> Module {
        let child = self.0.len();
        let path = format!("{}::{name}", self.0[parent].path);
        self.0.push(Names { path, parent, ..Names::default() });
        self.0[parent].children.insert(name.to_owned(), child);
        child
    }

    fn import(&mut self, module: Module, tree: UseTree, mut path: Vec<String>) {
        let mut named = |name: String, path: Vec<String>| {
            // `_` imports a trait for its methods, perhaps several times.
            let name = if name == "_" { format!("_ {}", path.join("::")) } else { name };
            self.0[module].imports.insert(name, path);
        };
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.import(module, *step.tree, path);
            }
            UseTree::Name(leaf) if leaf.ident == "self" => {
                named(path.last().expect("a module before `self`").clone(), path);
            }
            UseTree::Name(leaf) => {
                path.push(leaf.ident.to_string());
                named(leaf.ident.to_string(), path);
            }
            UseTree::Rename(leaf) => {
                if leaf.ident != "self" {
                    path.push(leaf.ident.to_string());
                }
                named(leaf.rename.to_string(), path);
            }
            UseTree::Glob(_) => self.0[module].globs.push(path),
            UseTree::Group(group) => {
                group.items.into_iter().for_each(|tree| self.import(module, tree, path.clone()));
            }
        }
    }

    /// What a path in `module` leads to; nothing if it leads out of the crate. `steps` limits how
    /// many names are looked up, because imports may lead to themselves through a `*`.
    fn find(&self, module: Module, path: &[String], steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let mut at = module;
        for (place, name) in path.iter().enumerate() {
            let is_last = place + 1 == path.len();
            at = match name.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.0[at].parent,
                name => match self.name(at, name, is_last, steps)? {
                    Target::Module(child) => child,
                    // What follows is a variant, or an associated item.
                    item @ Target::ItemOf(_) => return Some(item),
                },
            };
        }
        Some(Target::Module(at))
    }

    /// A function may have the name of a module: it is meant by the last name of a path (`is_last`)
    /// only.
    fn name(&self, module: Module, name: &str, is_last: bool, steps: usize) -> Option<Target> {
        let names = &self.0[module];
        let item = names.items.contains(name).then_some(Target::ItemOf(module));
        let child = names.children.get(name).map(|child| Target::Module(*child));
        if let Some(found) = if is_last { item.or(child) } else { child.or(item) } {
            return Some(found);
        }
        if let Some(path) = names.imports.get(name) {
            // `use log;` is a crate's name.
            return if path == &[name] { None } else { self.find(module, path, steps) };
        }
        names.globs.iter().find_map(|glob| match self.find(module, glob, steps)? {
            Target::Module(all) if all != module => self.name(all, name, is_last, steps),
            _ => None,
        })
    }

    /// Which module uses which, with the first path that says so.
    fn uses(&self) -> BTreeMap<(Module, Module), String> {
        let steps = 64;
        let mut uses = BTreeMap::new();
        let mut add = |from: Module, to: Option<Target>, path: &[String]| {
            let (Some(Target::Module(to)) | Some(Target::ItemOf(to))) = to else { return };
            if from != to {
                uses.entry((from, to)).or_insert_with(|| path.join("::"));
            }
        };
        for (module, names) in self.0.iter().enumerate() {
            for path in names.imports.values().chain(&names.globs) {
                add(module, self.find(module, path, steps), path);
            }
            for path in &names.types {
                add(module, self.find(module, path, steps), path);
            }
        }
        uses
    }

    /// Circles: each as lines that say which module uses the next, and by which path.
    fn circles(&self) -> Vec<String> {
        let uses = self.uses();
        let mut next = vec![Vec::new(); self.0.len()];
        uses.keys().for_each(|&(from, to)| next[from].push(to));
        let mut circles = Vec::new();
        let mut done = vec![false; self.0.len()];
        for start in 0..self.0.len() {
            if let Some(circle) = circle(start, &next, &mut done, &mut Vec::new()) {
                let pairs = circle.iter().zip(circle.iter().cycle().skip(1));
                let line = |(from, to): (&Module, &Module)| {
                    let [user, used] = [from, to].map(|module| &self.0[*module].path);
                    format!("    {user} uses {used}: {}\n", uses[&(*from, *to)])
                };
                circles.push(pairs.map(line).collect());
            }
        }
        circles
    }
}

/// The first circle that a walk from `at` finds among the modules that no walk has left yet.
fn circle(
    at: Module,
    next: &[Vec<Module>],
    done: &mut [bool],
    way: &mut Vec<Module>,
) -> Option<Vec<Module>> {
    if let Some(start) = way.iter().position(|seen| *seen == at) {
        return Some(way[start..].to_vec());
    }
    if done[at] {
        return None;
    }
    way.push(at);
    let found = next[at].iter().find_map(|to| circle(*to, next, done, way));
    way.pop();
    done[at] = true;
    found
}

/// Collects the paths of types of fields, parameters and results.
struct Types<'a>(&'a mut Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        let segments = path.path.segments.iter();
        self.0.push(segments.map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_type_path(self, path);
    }

    // Bodies and values do not count, and the items of a module are visited as that module's.
    fn visit_block(&mut self, _: &'ast syn::Block) {}
    fn visit_expr(&mut self, _: &'ast syn::Expr) {}
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}
}

/// Whether an attribute says that an item is of tests.
pub fn is_of_tests(attribute: &Attribute) -> bool {
    let text = |list: &syn::MetaList| list.tokens.to_string();
    let is_test = |text: String| text == "test" || text.starts_with("all (test");
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|it| is_test(text(it)))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

#[test]
fn modules_do_not_use_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = std::fs::read_dir(root.join("crates")).expect("crates");
    let mut folders: Vec<_> = folders.map(|folder| folder.expect("a folder").path()).collect();
    folders.push(root.join("python"));
    folders.sort();
    let mut found = String::new();
    let mut uses = 0;
    for file in folders.iter().flat_map(|it| [it.join("src/lib.rs"), it.join("src/main.rs")]) {
        if file.exists() {
            let modules = Modules::read(&file, &|path| std::fs::read_to_string(path).ok());
            uses += modules.uses().len();
            for circle in modules.circles() {
                found += &format!("{}:\n{circle}", file.display());
            }
        }
    }
    assert!(uses > 1000, "only {uses} uses were found, so circles may be overlooked");
    assert!(
        found.is_empty(),
        "modules use each other in circles; move what both need into a module of its own, below both\n{found}"
    );
}

/// The circles of a crate whose files are given as (path, text).
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let text = |path: &Path| {
        let (_, text) = files.iter().find(|(name, _)| path == Path::new("src").join(name))?;
        Some((*text).to_owned())
    };
    Modules::read(Path::new("src/lib.rs"), &text).circles()
}

#[test]
fn imports_of_each_other_are_a_circle() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b/mod.rs", "use super::a::{A as Other}; pub struct B;"),
    ]);
    assert_eq!(
        found,
        ["    crate::a uses crate::b: crate::b::B\n    crate::b uses crate::a: super::a::A\n"]
    );
}

#[test]
fn types_of_fields_and_signatures_count() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A(crate::b::B);"),
        ("b.rs", "pub struct B; fn f(_: &super::a::A) {}"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn an_import_through_a_parent_is_one_of_the_module_that_defines_the_item() {
    let re_exported = [
        ("lib.rs", "mod p;"),
        ("p/mod.rs", "mod a; mod b; pub use a::A; pub use b::B; fn b() {}"),
        ("p/a.rs", "use super::B; use super::b::C; pub struct A;"),
        ("p/b.rs", "pub struct B; pub struct C;"),
    ];
    assert!(circles(&re_exported).is_empty());
    let defined = [
        ("lib.rs", "mod p;"),
        ("p/mod.rs", "mod a; use a::A; pub struct P(A);"),
        ("p/a.rs", "use super::P; pub struct A;"),
    ];
    assert_eq!(circles(&defined).len(), 1);
}

#[test]
fn tests_and_bodies_do_not_count() {
    let found = circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A; #[cfg(test)] mod tests { use super::*; }"),
        (
            "b.rs",
            "pub struct B; fn f() { let _ = crate::a::A; } #[cfg(test)] mod tests { use crate::a::A; }",
        ),
    ]);
    assert!(found.is_empty(), "{found:?}");
}
