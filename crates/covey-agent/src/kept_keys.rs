//! The keys of flow tokens, in a file beside the agent's socket. An agent that starts while the
//! coordinator is away has those of the one before it: without keys its host would begin no flows.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use covey_api::check_mode;
use covey_proto::{Decoder, FlowKeys, ToAgent, encode};

/// The file, and what is in it.
#[derive(Debug)]
pub struct KeptKeys {
    path: PathBuf,
    kept: Option<FlowKeys>,
}

impl KeptKeys {
    /// Reads the keys of the agent of a port from beside its socket. A file that is wrong, or that
    /// others may read, counts as none.
    pub fn beside(socket: &Path, port: u32) -> KeptKeys {
        let path = socket.with_file_name(format!("agent-{port}.keys"));
        let kept = path.exists().then(|| read(&path)).transpose();
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(file = %path.display(), error, "keys of flow tokens are not read");
            None
        });
        KeptKeys { path, kept }
    }

    /// The keys.
    pub fn get(&self) -> Option<FlowKeys> {
        self.kept
    }

    /// Keeps these; `None`: there are none any more.
    pub fn keep(&mut self, keys: Option<FlowKeys>) {
        if keys == self.kept {
            return;
        }
        self.kept = keys;
        let written = match keys {
            Some(keys) => write(&self.path, keys),
            None => fs::remove_file(&self.path),
        };
        if let Err(error) = written {
            tracing::warn!(file = %self.path.display(), %error, "keys of flow tokens are not kept");
        }
    }
}

fn read(path: &Path) -> Result<FlowKeys, String> {
    check_mode(path).map_err(|error| error.to_string())?;
    let mut decoder = Decoder::default();
    decoder.push(&fs::read(path).map_err(|error| error.to_string())?);
    match decoder.take::<ToAgent>() {
        Ok(Some(ToAgent::Keys(keys))) => Ok(keys),
        Ok(_) => Err("it has none".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes the file at once, so that nobody reads a part of it.
fn write(path: &Path, keys: FlowKeys) -> io::Result<()> {
    let new = path.with_extension("keys.new");
    // An earlier agent may have been killed while it wrote, and the mode of a file that is there
    // does not change.
    let _ = fs::remove_file(&new);
    let mut bytes = Vec::new();
    encode(&ToAgent::Keys(keys), &mut bytes);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(&bytes)?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use covey_proto::{FlowTokens, Key};

    use super::*;

    #[test]
    fn keys_are_there_for_the_next_agent_of_the_port_and_for_nobody_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("agent.sock");
        let file = folder.path().join("agent-3.keys");
        let key = |byte| Key([byte; 32]);
        let mode = FlowTokens::On;
        let keys = FlowKeys { mode, receiving: key(1), sending: key(2), fabric: key(3) };
        let mut kept = KeptKeys::beside(&socket, 3);
        assert_eq!(kept.get(), None);
        kept.keep(Some(keys));
        assert_eq!(KeptKeys::beside(&socket, 3).get(), Some(keys));
        assert_eq!(KeptKeys::beside(&socket, 4).get(), None);
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        // A file that others may read, one that was cut off, and garbage.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("its own file");
        assert_eq!(KeptKeys::beside(&socket, 3).get(), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its own file");
        for wrong in [&fs::read(&file).expect("a file")[..20], b"", &[0xff; 99]] {
            fs::write(&file, wrong).expect("its own file");
            assert_eq!(KeptKeys::beside(&socket, 3).get(), None, "{wrong:?}");
        }
        // The next keys replace it, and a coordinator without tokens removes it.
        kept.keep(Some(FlowKeys { receiving: key(9), ..keys }));
        assert_eq!(KeptKeys::beside(&socket, 3).get().map(|it| it.receiving), Some(key(9)));
        kept.keep(None);
        assert!(!file.exists());
    }
}
