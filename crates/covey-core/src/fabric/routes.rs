//! A topology whose paths are listed one by one.

use std::collections::BTreeMap;

use super::{FabricError, Topology};
use crate::values::ids::{LinkId, PortId};

/// A path for each pair of ports that is listed. A pair that is not listed crosses no inner link.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    of_pair: BTreeMap<(PortId, PortId), Box<[u32]>>,
}

impl Routes {
    /// The given paths (source, destination, inner links numbered from 0); of two for one pair, the
    /// later.
    ///
    /// # Errors
    /// When a path uses a link from `inner_links` on, or a link twice.
    pub fn new(
        inner_links: u32,
        paths: impl IntoIterator<Item = (PortId, PortId, Vec<u32>)>,
    ) -> Result<Routes, FabricError> {
        let mut routes = Routes::default();
        for (src, dst, path) in paths {
            for (k, &link) in path.iter().enumerate() {
                if link >= inner_links {
                    return Err(FabricError::UnknownLink { src: src.0, dst: dst.0, link });
                }
                if path[..k].contains(&link) {
                    return Err(FabricError::LinkTwice { src: src.0, dst: dst.0, link });
                }
            }
            routes.of_pair.insert((src, dst), path.into());
        }
        Ok(routes)
    }

    /// The inner links listed for a pair of ports.
    pub fn path(&self, src: PortId, dst: PortId) -> Option<&[u32]> {
        self.of_pair.get(&(src, dst)).map(|path| &**path)
    }
}

impl Topology for Routes {
    fn inner_path(&self, src: PortId, dst: PortId, _: u64, path: &mut Vec<LinkId>) {
        let links = self.of_pair.get(&(src, dst)).into_iter().flatten();
        path.extend(links.map(|&link| LinkId(link)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_over_a_link_that_does_not_exist_or_over_one_twice_is_refused() {
        let routes = |path: &[u32]| Routes::new(3, [(PortId(4), PortId(5), path.to_vec())]);
        assert!(routes(&[2, 0, 1]).is_ok());
        let unknown = FabricError::UnknownLink { src: 4, dst: 5, link: 3 };
        assert_eq!(routes(&[0, 3]).expect_err("there are three"), unknown);
        let twice = FabricError::LinkTwice { src: 4, dst: 5, link: 1 };
        assert_eq!(routes(&[1, 0, 1]).expect_err("1 occurs twice"), twice);
    }
}
