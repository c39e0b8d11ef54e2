//! Recorded changes are found again, and unreadable journals are reported.

use super::*;

fn this_process() -> (u32, u64) {
    let this = Process::this();
    (this.pid, this.start_ticks)
}

fn header(target: &str) -> Header {
    let (target, password) = without_password(target);
    Header {
        target,
        password,
        tuner: this_process(),
        private: None,
    }
}

fn change(name: &str, before: Option<&str>) -> Change {
    Change {
        name: name.to_owned(),
        before: before.map(str::to_owned),
        restart: false,
    }
}

/// The end of a journal's run. Programs that other tests are starting may have its lock for a moment longer.
fn cut_short(journal: Journal) -> PathBuf {
    let path = journal.path().to_owned();
    drop(journal);
    let file = File::open(&path).expect("a file");
    flock(&file, FlockOperation::LockExclusive).expect("a lock");
    path
}

#[test]
fn passwords_are_not_written() {
    for (given, kept, hidden) in [
        (
            "postgres://me:secret@host:5432/db?x=1",
            "postgres://me@host:5432/db?x=1",
            true,
        ),
        (
            "postgres://me:se@cr:et@host/db",
            "postgres://me@host/db",
            true,
        ),
        (
            "postgres://host/db?password=secret&user=me",
            "postgres://host/db?user=me",
            true,
        ),
        (
            "mysql://root@127.0.0.1:3306/test",
            "mysql://root@127.0.0.1:3306/test",
            false,
        ),
        ("postgres", "postgres", false),
    ] {
        assert_eq!(without_password(given), (kept.to_owned(), hidden));
    }
}

#[test]
fn a_journal_is_found_once_its_run_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let target = "postgres://me:secret@host/db";
    let mut journal = Journal::begin(directory.path(), header(target)).expect("a journal");
    let changes = [change("a", Some("1")), change("b", None)];
    changes
        .iter()
        .for_each(|one| journal.note(one).expect("noted"));
    // The value before the second change is not the original.
    journal.note(&change("a", Some("2"))).expect("noted");
    assert_eq!(left(directory.path()).expect("read").journals, []);
    let busy = Journal::begin(directory.path(), header(target)).expect_err("locked");
    assert!(matches!(busy, Error::Busy(_)), "{busy}");
    cut_short(journal);
    let left = left(directory.path()).expect("read").journals;
    assert_eq!((left.len(), &left[0].changes[..]), (1, &changes[..]));
    let text = fs::read_to_string(&left[0].path).expect("a file");
    assert!(!text.contains("secret"), "{text}");
    let error = Journal::begin(directory.path(), header(target)).expect_err("left");
    assert!(error.to_string().contains("--restore"), "{error}");
}

#[test]
fn a_line_that_was_cut_short_was_not_acted_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut journal = Journal::begin(directory.path(), header("mysql://h/db")).expect("a journal");
    journal.note(&change("a", None)).expect("noted");
    let path = cut_short(journal);
    let whole = fs::read(&path).expect("a file");
    let header_ends = whole
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line");
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).expect("written");
        let left = left(directory.path()).expect("read");
        // Without a whole first line it is reported as unreadable; before the last line's end nothing was changed.
        let [is_read, is_whole] = [length > header_ends, length + 1 >= whole.len()];
        assert_eq!(left.unreadable.len(), usize::from(!is_read), "{length}");
        let changes: usize = left.journals.iter().map(|one| one.changes.len()).sum();
        assert!(changes == 0 || is_whole, "{length}");
    }
}

#[test]
fn an_unreadable_journal_is_reported_and_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let target = "mysql://h/db";
    let mut journal = Journal::begin(directory.path(), header(target)).expect("a journal");
    for name in ["a", "b"] {
        journal.note(&change(name, Some("1"))).expect("noted");
    }
    let path = cut_short(journal);
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(&path, text.replace("\"name\":\"a\"", "\"name\":a")).expect("written");
    let left = left(directory.path()).expect("read");
    assert!(left.journals.is_empty());
    assert_eq!(left.unreadable[0].path, path);
    assert!(left.unreadable[0].why.starts_with("line 2: "), "{left:?}");
    let error = Journal::begin(directory.path(), header(target)).expect_err("damaged");
    assert!(error.to_string().contains("line 2: "), "{error}");
    assert!(path.exists());
}

#[test]
fn a_run_that_changed_nothing_leaves_nothing_in_the_way() {
    let directory = tempfile::tempdir().expect("a directory");
    for _ in 0..2 {
        cut_short(Journal::begin(directory.path(), header("mysql://h/db")).expect("a journal"));
    }
    let journal = Journal::begin(directory.path(), header("mysql://h/db")).expect("a journal");
    journal.end().expect("removed");
    assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 0);
}
