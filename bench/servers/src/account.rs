//! The account a server runs as: its own system account when root runs us, because database servers refuse root.

use std::fs;

use crate::error::{During, ServerError};

/// A user of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Name in `/etc/passwd`.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Id of its first group.
    pub gid: u32,
}

impl Account {
    /// The first of `candidates` that exists, when root runs us; `None` (no change of user) when anybody else does.
    ///
    /// # Errors
    /// [`ServerError::NoAccount`] for root when none exists.
    pub(crate) fn for_server(candidates: &[&'static str]) -> Result<Option<Self>, ServerError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").during(|| "read /etc/passwd".into())?;
        match candidates.iter().find_map(|name| find(&passwd, name)) {
            Some(account) => Ok(Some(account)),
            None => Err(ServerError::NoAccount {
                accounts: candidates.join(", "),
                first: candidates[0],
            }),
        }
    }
}

/// Looks `name` up in the text of a passwd(5) file: `name:password:uid:gid:comment:home:shell` a line.
fn find(passwd: &str, name: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Account {
            name: name.to_owned(),
            uid,
            gid,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
        postgres-old:x:7:7::/:/bin/sh\n\
        postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash\n\
        broken:x:many:1::/:/bin/sh\n";

    #[test]
    fn finds_an_account_by_its_whole_name() {
        assert_eq!(
            find(PASSWD, "postgres"),
            Some(Account {
                name: "postgres".into(),
                uid: 101,
                gid: 104
            })
        );
    }

    #[test]
    fn an_absent_or_unreadable_account_gives_nothing() {
        assert_eq!(find(PASSWD, "mysql"), None);
        assert_eq!(find(PASSWD, "broken"), None);
    }
}
