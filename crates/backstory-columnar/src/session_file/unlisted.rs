//! Check for parts of a file that `hdf5-pure` does not list and a rebuilt file would thus lack: links to paths, and the shape of attributes.

use std::collections::HashSet;

use super::open::SessionFile;
use crate::error::{Error, Result};
use crate::hdf5::object::{LinkTarget, ObjectHeader, root_address};

impl SessionFile {
    /// Checks that all links of the file are to its objects, and that no attribute has more than one dimension.
    pub(super) fn check_unlisted(&self) -> Result<()> {
        let refuse = |place: &str, what: String| Error::NotCarriedOver {
            path: self.path().to_owned(),
            place: place.to_owned(),
            what,
        };
        let source = &self.source;
        self.start_operation();
        let Some(root) = root_address(source) else {
            return Err(refuse("/", "its superblock has an unusual form".into()));
        };
        let mut left = vec![(String::new(), root)];
        let mut seen = HashSet::new();
        while let Some((place, address)) = left.pop() {
            if !seen.insert(address) {
                continue;
            }
            self.start_operation();
            let shown = if place.is_empty() { "/" } else { &place };
            let header = ObjectHeader::read_at(source, address);
            let mut table = None;
            let read = header.and_then(|header| {
                header.visit_attributes(source, |attribute| {
                    if attribute.rank > 1 {
                        table = Some(attribute.name.to_owned());
                    }
                    Some(())
                })?;
                header.read_links(source)
            });
            if let Some(name) = table {
                let what = format!("its attribute \"{name}\" has several dimensions");
                return Err(refuse(shown, what));
            }
            let Some(links) = read else {
                let what = "its links and attributes are stored in an unusual form".to_owned();
                return Err(refuse(shown, what));
            };
            for link in links {
                let kind = match link.target {
                    LinkTarget::Object(address) => {
                        left.push((format!("{place}/{}", link.name), address));
                        continue;
                    }
                    LinkTarget::Soft => "a soft link",
                    LinkTarget::External => "an external link",
                };
                return Err(refuse(shown, format!("\"{}\" in it is {kind}", link.name)));
            }
        }
        Ok(())
    }
}
