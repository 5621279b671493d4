//! The units of systemd: what they may do, as `systemd-analyze security` sees it.

use std::path::Path;
use std::process::Command;

/// The most exposure that a unit may have, of 10.
const MOST: f64 = 3.0;

#[test]
fn units_may_do_little() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/systemd");
    let mut names: Vec<_> = std::fs::read_dir(folder).expect("a folder").collect();
    names.sort_by_key(|it| it.as_ref().map(|it| it.path()).ok());
    assert_eq!(names.len(), 3);
    for name in names {
        let path = name.expect("a unit").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        for line in ["NoNewPrivileges=yes", "CapabilityBoundingSet=\n", "ProtectSystem=strict"] {
            assert!(text.contains(line), "{}: {line}", path.display());
        }
        let analyze = ["security", "--offline=yes", "--no-pager"];
        let ran = Command::new("systemd-analyze").args(analyze).arg(&path).output();
        let Ok(ran) = ran else {
            // scripts/tools.sh installs it.
            assert!(std::env::var_os("TOOLS").is_none(), "there is no systemd-analyze");
            println!("skipped: there is no systemd-analyze");
            return;
        };
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let exposure = text.lines().find_map(|line| {
            let (_, after) = line.split_once("Overall exposure level for ")?;
            after.split_once(".service: ")?.1.split_whitespace().next()?.parse::<f64>().ok()
        });
        let exposure = exposure.expect("a level");
        assert!(exposure <= MOST, "{}: {exposure}", path.display());
    }
}
