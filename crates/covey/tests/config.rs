//! Settings of the live system's commands from a file and from the environment.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use crate::common::TestFolder;

/// The commands that have settings.
const COMMANDS: [&str; 5] = ["serve", "agent", "relay", "status", "top"];

/// The result of a command in which these variables are set: exit status, output and error.
fn run(
    folder: &TestFolder,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (Option<i32>, String, String) {
    let mut command: Command = folder.command(arguments);
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The line of a command that is refused.
fn refusal(folder: &TestFolder, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let (status, out, err) = run(folder, arguments, variables);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
    err.trim_end().strip_prefix("covey: ").unwrap().to_owned()
}

/// What `covey config` shows.
fn shown(folder: &TestFolder, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let arguments = [&["config"], arguments].concat();
    let (status, out, err) = run(folder, &arguments, variables);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{arguments:?}");
    out
}

/// Whether a text has this line.
fn has(text: &str, line: &str) -> bool {
    text.lines().any(|it| it == line)
}

#[test]
fn the_command_line_comes_first_then_the_environment_then_the_file() {
    let folder = TestFolder::new();
    folder.write(
        "covey.toml",
        "[serve]\nheartbeat = \"2s\"\nmax-gone = 7 # few\nlog-json = true\n\n[agent]\naddress = [\"10.0.0.1\", \"10.0.0.2\"]\n",
    );
    let variables = [
        ("COVEY_CONFIG", "covey.toml"),
        ("COVEY_SERVE_HEARTBEAT", "3s"),
        ("COVEY_SERVE_POLICY", ""),
        ("COVEY_AGENT_PORT", "3"),
    ];
    let all = shown(&folder, &[], &variables);
    for line in [
        "# covey.toml",
        "[serve]",
        "heartbeat = \"3s\"  # COVEY_SERVE_HEARTBEAT",
        "max-gone = 7  # covey.toml: line 3",
        "log-json = true  # covey.toml: line 4",
        "lost-after = \"5s\"  # default",
        "policy = \"covey\"  # default",
        "[agent]",
        "port = 3  # COVEY_AGENT_PORT",
        "address = [\"10.0.0.1\", \"10.0.0.2\"]  # covey.toml: line 7",
        "# device: not set",
        "[relay]",
        "[status]",
    ] {
        assert!(has(&all, line), "{line}\n{all}");
    }
    // The same for the commands themselves, which are refused for what they were given.
    for (arguments, variables, says) in [
        (
            &["serve", "--config", "covey.toml"][..],
            &[][..],
            "--lost-after: expected at least 3 times --heartbeat, which is 2s, found 5s",
        ),
        (
            &["serve", "--config", "covey.toml"],
            &variables[1..2],
            "--lost-after: expected at least 3 times --heartbeat, which is 3s, found 5s",
        ),
        (
            &["serve", "--heartbeat", "4s", "--config", "covey.toml"],
            &variables[1..2],
            "--lost-after: expected at least 3 times --heartbeat, which is 4s, found 5s",
        ),
        (
            &["agent", "--config", "covey.toml", "--coordinator", "127.0.0.1:0"],
            &variables[3..],
            "--coordinator: expected a port above 0, found 127.0.0.1:0",
        ),
    ] {
        let quick = [("COVEY_SERVE_LOST_AFTER", "5s")];
        let mut line = refusal(&folder, arguments, &[variables, &quick].concat());
        line = line.replace("COVEY_SERVE_LOST_AFTER", "--lost-after");
        assert_eq!(line, says);
    }
    assert_eq!(folder.names(), ["covey.toml", "tiny.txt"]);
}

#[test]
fn a_list_on_the_command_line_replaces_the_one_of_the_file() {
    let folder = TestFolder::new();
    folder.write("covey.toml", "[agent]\nport = 0\naddress = [\"wrong\"]\n");
    folder.write("token", "secret\n");
    use std::os::unix::fs::PermissionsExt;
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("token"), secret).unwrap();
    let agent = ["agent", "--config", "covey.toml", "--credentials", "."];
    let says = "address: expected an address of IPv4 or IPv6, found ";
    let line = refusal(&folder, &agent, &[]);
    assert_eq!(line, format!("covey.toml: line 3: {says}'wrong'"));
    let line = refusal(&folder, &agent, &[("COVEY_AGENT_ADDRESS", "10.0.0.1, bad")]);
    assert_eq!(line, format!("COVEY_AGENT_ADDRESS: {}'bad'", &says["address: ".len()..]));
    let line = refusal(&folder, &[&agent[..], &["--address", "worse"]].concat(), &[]);
    assert_eq!(line, format!("--{says}'worse'"));
}

#[test]
fn an_error_names_the_line_or_the_variable_and_what_may_be_meant() {
    let folder = TestFolder::new();
    for (content, says) in [
        (
            "[serve]\nheartbaet = \"1s\"\n",
            "line 2: covey serve has no option 'heartbaet'; did you mean 'heartbeat'?",
        ),
        (
            "[serve]\nlost_after = 1\n",
            "line 2: covey serve has no option 'lost_after'; did you mean 'lost-after'?",
        ),
        ("\n\n[server]\n", "line 3: no section is called 'server'; did you mean 'serve'?"),
        (
            "heartbeat = \"1s\"\n",
            "line 1: heartbeat: expected a section, such as [serve], before it",
        ),
        ("[serve]\ninit = true\n", "line 2: 'init' can stand on the command line only"),
        ("[serve]\nconfig = \"x\"\n", "line 2: 'config' can stand on the command line only"),
        // Other sections are checked, too.
        (
            "[relay]\nmax-agent = 1\n",
            "line 2: covey relay has no option 'max-agent'; did you mean 'max-agents'?",
        ),
        (
            "[serve]\nlog-json = \"yes\"\n",
            "line 2: log-json: expected true or false, found a text or a number",
        ),
        (
            "[serve]\nports = true\n",
            "line 2: ports: expected a text in quotes or a number, found true or false",
        ),
        (
            "[serve]\nports = [1]\n",
            "line 2: ports: expected a text in quotes or a number, found a list",
        ),
        (
            "[serve]\nports = 1979-05-27\n",
            "line 2: ports: expected a text in quotes or a number, found a date",
        ),
        (
            "[serve.ports]\nx = 1\n",
            "line 1: ports: expected a text in quotes or a number, found a table",
        ),
        (
            "[agent]\naddress = \"10.0.0.1\"\n",
            "line 2: address: expected a list of texts, such as [\"a\", \"b\"], found a text or a number",
        ),
        (
            "[agent]\naddress = [[]]\n",
            "line 2: address: expected a list of texts, such as [\"a\", \"b\"], found a list of something else",
        ),
        ("[serve]\nports = many\n", "line 2: "),
        ("[serve]\nports = 1\nports = 2\n", "line 3: duplicate key"),
        // Values are checked as on a command line.
        ("[serve]\nports = \"many\"\n", "line 2: ports: expected a whole number, found 'many'"),
        ("[serve]\nports = -1\n", "line 2: ports: expected from 0 to 4294967295, found '-1'"),
        (
            "[serve]\nreports = \"alway\"\n",
            "line 2: reports: expected one of needed, always, found 'alway'; did you mean 'always'?",
        ),
    ] {
        folder.write("covey.toml", content);
        let line = refusal(&folder, &["serve", "--config", "covey.toml"], &[]);
        assert!(line.starts_with(&format!("covey.toml: {says}")), "{content:?}: {line}");
        let line = refusal(&folder, &["config"], &[("COVEY_CONFIG", "covey.toml")]);
        assert!(line.starts_with(&format!("covey.toml: {says}")), "{content:?}: {line}");
    }
    for (variable, value, says) in [
        (
            "COVEY_SERVE_HEARTBAET",
            "1s",
            "no variable of covey serve has this name; did you mean 'COVEY_SERVE_HEARTBEAT'?",
        ),
        ("COVEY_SERVE_INIT", "true", "--init can stand on the command line only"),
        ("COVEY_SERVE_PORTS", "many", "expected a whole number, found 'many'"),
        ("COVEY_SERVE_MAX_COFLOWS", "0", "expected from 1 to 1000000000, found 0"),
        (
            "COVEY_SERVE_HEARTBEAT",
            "1 sec",
            "'1 sec' is not a duration with its unit: expected one like 8ms, 10us, 2s or 0; did you mean '1s'?",
        ),
        ("COVEY_SERVE_LOG_JSON", "yes", "expected true or false, found 'yes'"),
    ] {
        let line = refusal(&folder, &["serve"], &[(variable, value)]);
        assert_eq!(line, format!("{variable}: {says}"));
        // Those of other commands do not matter, and neither does anything to the help.
        let (status, ..) = run(&folder, &["serve", "--help"], &[(variable, value)]);
        assert_eq!(status, Some(0));
        assert!(
            refusal(&folder, &["relay", "--threads", "0"], &[(variable, value)])
                .starts_with("--threads")
        );
    }
    let line = refusal(&folder, &["serve", "--config", "none.toml"], &[]);
    assert!(line.starts_with("--config: none.toml: No such file"), "{line}");
    let line = refusal(&folder, &["serve", "--config", "/dev/zero"], &[]);
    assert_eq!(line, "--config: /dev/zero: expected at most 1048576 bytes");
    assert_eq!(folder.names(), ["covey.toml", "tiny.txt"]);
}

/// The options in the help of a command, but those that only a command line can have.
fn options(folder: &TestFolder, command: &str) -> BTreeSet<String> {
    let help = folder.results(&[command, "--help"]);
    let (settings, _) =
        help.split_once("Options that a file or the environment cannot set:").unwrap();
    let words = settings.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let names = words.map(|word| word.split([' ', ',']).next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

/// The names that a file sets in the section of a command.
fn names(file: &str, command: &str) -> BTreeSet<String> {
    let section = file.split_once(&format!("[{command}]\n")).unwrap().1;
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.trim_start_matches('#').split_once(" = "));
    names.map(|(name, _)| name.to_owned()).filter(|name| !name.contains(' ')).collect()
}

#[test]
fn the_example_has_every_option_and_its_default() {
    let folder = TestFolder::new();
    let example = folder.results(&["config", "--example"]);
    assert!(example.lines().all(|line| line.chars().count() <= 110), "{example}");
    for command in COMMANDS {
        let options = options(&folder, command);
        assert!(options.len() >= 3, "{options:?}");
        assert_eq!(names(&example, command), options, "{command}");
    }
    // As it is it sets nothing.
    folder.write("example.toml", &example);
    let defaults = shown(&folder, &[], &[]);
    let with_example = shown(&folder, &["--config", "example.toml"], &[]);
    assert_eq!(with_example.replace("# example.toml", "# no file"), defaults);
    // Its values are those that hold without it.
    let is_setting = |line: &&str| {
        line.strip_prefix('#')
            .and_then(|line| line.split_once(" = "))
            .is_some_and(|(name, _)| !name.contains(' '))
            && !line.ends_with("# not set by default")
    };
    let uncommented: Vec<&str> =
        example.lines().map(|line| if is_setting(&line) { &line[1..] } else { line }).collect();
    folder.write("all.toml", uncommented.join("\n"));
    let all = shown(&folder, &["--config", "all.toml"], &[]);
    let values = |text: &str| -> Vec<String> {
        let settings = text.lines().filter(|line| !line.starts_with('#'));
        settings.map(|line| line.split("  # ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(values(&all), values(&defaults));
    assert!(all.contains("heartbeat = \"1s\"  # all.toml: line "), "{all}");
}

#[test]
fn no_setting_is_a_secret() {
    let folder = TestFolder::new();
    for command in COMMANDS {
        for name in options(&folder, command) {
            // A secret stands in a file of its own, which an option may name.
            let is_secret = ["secret", "password", "token"].iter().any(|word| name.ends_with(word));
            assert!(!is_secret, "{command} --{name}");
        }
    }
}

#[test]
fn a_coordinator_starts_with_a_file() {
    let folder = TestFolder::new();
    folder.write(
        "covey.toml",
        "[serve]\ndata = \"here\"\nports = 4\nclients = \"127.0.0.1:0\"\nagents = \"127.0.0.1:0\"\nlog = \"error\"\n",
    );
    let mut command = folder.command(&["serve", "--config", "covey.toml"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    use std::io::BufRead;
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("clients 127.0.0.1:"), "{line}");
    assert!(folder.path("here/token").exists());
}
