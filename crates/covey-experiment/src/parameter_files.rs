//! Parameters of policies that are lists in files, such as `stream:thresholds=@limits.txt`.
//!
//! The file has the items of the list, separated by white space, commas or slashes. A `#` begins a
//! comment, which ends with its line.

use std::fs::File;
use std::io::Read;

use crate::Error;

/// The largest file in bytes. The longest list that a policy takes has seven items.
const MAX_BYTES: u64 = 64 << 10;

/// Replaces each value `@FILE` in `NAME:key=value,…` by the list in that file, its items separated
/// by slashes.
///
/// # Errors
/// If a file cannot be read, is larger than 64 KiB, is no text or has no item.
pub(crate) fn insert(spec: &str) -> Result<String, Error> {
    let inserted = spec.split(',').map(|item| match item.split_once("=@") {
        Some((name, path)) => Ok(format!("{name}={}", list(path.trim())?)),
        None => Ok(item.to_owned()),
    });
    Ok(inserted.collect::<Result<Vec<_>, Error>>()?.join(","))
}

fn list(path: &str) -> Result<String, Error> {
    let wrong = |found: &str| {
        let expected = format!("a list in the file '{path}'");
        Error::argument("policy", expected, found)
    };
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| wrong(&error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(wrong("more than 64 KiB"));
    }
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(list, _)| list));
    let separates = |c: char| c.is_whitespace() || c == ',' || c == '/';
    let items = lines.flat_map(|line| line.split(separates)).filter(|item| !item.is_empty());
    let list = items.collect::<Vec<_>>().join("/");
    if list.is_empty() { Err(wrong("no item")) } else { Ok(list) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(spec: &str) -> String {
        insert(spec).expect_err(spec).to_string()
    }

    #[test]
    fn a_list_comes_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            format!("stream:K=4,thresholds=@{},wp=false", path.display())
        };
        let spec = write("limits", b"10MiB, 100MiB # two queues\n\n# the third\n1GiB\n");
        assert_eq!(insert(&spec).unwrap(), "stream:K=4,thresholds=10MiB/100MiB/1GiB,wp=false");
        assert_eq!(insert("stream:K=4").unwrap(), "stream:K=4");

        assert!(message(&write("none", b"# nothing\n")).ends_with("none', found no item"));
        assert!(message(&write("large", &[b'1'; 70_000])).ends_with("found more than 64 KiB"));
        assert!(message(&write("garbage", &[0xff; 100])).contains("valid UTF-8"));
        assert!(message("stream:thresholds=@no/such").contains("'no/such', found No such file"));
        // A folder opens, and cannot be read.
        assert!(message("stream:thresholds=@/").contains("'/', found Is a directory"));
    }
}
