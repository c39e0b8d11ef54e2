//! Compares names inferred in stripped servers with the real ones of the same builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_intervals::presets::Preset;
use evenkeel_symbols::{DebugSources, Module};

/// Official builds with symbols, as scripts/install.sh puts them into its cache: preset, program, names found at least.
const RELEASES: [(&str, &str, usize); 3] = [
    ("postgres", "postgresql-15.13/bin/postgres", 65),
    ("mariadb", "mariadb-11.4.5/bin/mariadbd", 34),
    // Older than what its fingerprints were made for: few fit, and those must be right.
    ("mariadb", "mariadb-10.2.11/bin/mysqld", 1),
];

fn cache() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return "/var/cache/evenkeel".into();
    }
    let home = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(home, PathBuf::from)
        .join("evenkeel")
}

fn load(path: &Path, sources: &DebugSources) -> Module {
    Module::load(path, sources).unwrap_or_else(|error| panic!("{error}"))
}

/// Names inferred, with their entries.
fn inferred(preset: &str, module: &mut Module) -> Vec<(String, u64)> {
    let fingerprints = Preset::named(preset).unwrap().fingerprints();
    module.infer_names(&fingerprints);
    let functions = module.functions().iter();
    let named = functions.map(|function| (module.name(function.entry), function.entry));
    named
        .filter_map(|(name, entry)| Some((name.strip_prefix('~')?.to_owned(), entry)))
        .collect()
}

/// Without parameters and the compiler's endings.
fn base(name: &str) -> &str {
    evenkeel_analysis::findings::plumbing::base(name)
}

fn are_real(preset: &str, bare: &mut Module, real: &Module) -> usize {
    let found = inferred(preset, bare);
    for (name, entry) in &found {
        let expected = real.name(*entry);
        assert_eq!(base(name), base(&expected), "{entry:#x} of {preset}");
    }
    found.len()
}

/// A distribution's server has these names, by symbol or inferred. Where its debug file is installed, all that are inferred are right.
fn assert_readable(preset: &str, path: &Path, names: &[&str]) {
    let mut bare = load(path, &DebugSources::none());
    let found = inferred(preset, &mut bare);
    for name in names {
        let is_inferred = found.iter().any(|(inferred, _)| inferred == name);
        assert!(
            bare.find(name).is_ok() || is_inferred,
            "{name} in {}",
            path.display()
        );
    }
    let real = load(path, &DebugSources::from_environment());
    if real.debug_file().is_some() {
        are_real(preset, &mut bare, &real);
    }
}

#[test]
fn inferred_names_are_the_real_ones() {
    let folder = tempfile::tempdir().unwrap();
    for (preset, program, least) in RELEASES {
        let path = cache().join(program);
        let release = program.split('/').next().unwrap();
        assert!(path.exists(), "install it: scripts/install.sh {release}");
        let stripped = folder.path().join(release);
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&stripped).arg(&path);
        assert!(strip.status().expect("binutils").success());
        let sources = DebugSources::none();
        let (real, mut bare) = (load(&path, &sources), load(&stripped, &sources));
        let found = are_real(preset, &mut bare, &real);
        assert!(found >= least, "{release}: {found}");
    }
}

/// The distribution's server, whose symbols are a package of their own: beside that, if it is installed.
#[test]
fn a_distribution_s_postgresql_is_readable() {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let programs = versions.map(|version| version.unwrap().path().join("bin/postgres"));
    for path in programs.filter(|path| path.exists()) {
        let mut names = vec![
            "exec_simple_query",
            "ExecModifyTable",
            "CommitTransaction",
            "XLogWrite",
        ];
        // Later compilers may leave them out.
        if path.starts_with("/usr/lib/postgresql/15") {
            names.extend(["hashagg_spill_tuple", "agg_refill_hash_table"]);
        }
        assert_readable("postgres", &path, &names);
    }
}

/// The distribution's server has no symbols of InnoDB's functions. Patterns of advice need these names.
#[test]
fn a_distribution_s_mariadb_is_readable() {
    let names = [
        "log_free_check",
        "trx_undo_report_row_operation",
        "buf_LRU_get_free_block",
        "row_vers_build_for_consistent_read",
        "trx_undo_prev_version_build",
        "row_ins_check_foreign_constraint",
        "btr_cur_t::search_leaf",
        "btr_search_guess_on_hash",
        "btr_search_build_page_hash_index",
        "btr_search_drop_page_hash_index",
    ];
    assert_readable("mariadb", Path::new("/usr/sbin/mariadbd"), &names);
}

/// The distribution's server has no symbols of static functions. Patterns of advice need these names.
#[test]
fn a_distribution_s_nginx_is_readable() {
    let names = ["ngx_http_log_handler", "ngx_http_upstream_connect"];
    assert_readable("nginx", Path::new("/usr/sbin/nginx"), &names);
}
