//! A source file as a module: what it declares, imports and names. Tests in it are left out.

use std::collections::BTreeSet;

use crate::tokens::{Token, tokens};

/// Names joined by `::`.
pub type Path = Vec<String>;

/// A module, which is a file.
#[derive(Debug, Default)]
pub struct Module {
    /// Modules declared in it that are other files, and the files that attributes name for them.
    pub children: Vec<(String, Vec<String>)>,
    /// Items that it declares itself.
    pub items: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// Paths of two names or more, outside of imports.
    pub paths: Vec<Path>,
}

/// A name brought in by `use`.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    pub path: Path,
    /// The name it has here; `*` for all that there is.
    pub name: String,
    /// It is passed on to others, so that it may be meant for them alone.
    pub public: bool,
}

const ITEMS: [&str; 9] = [
    "struct", "enum", "union", "fn", "trait", "const", "static", "type", "mod",
];

impl Module {
    pub fn of(source: &str) -> Module {
        let mut module = Module::default();
        let mut reader = Reader {
            tokens: tokens(source),
            at: 0,
            inline: Vec::new(),
            depth: 0,
        };
        reader.read(&mut module);
        module
    }
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    /// At which depths modules within the file began.
    inline: Vec<usize>,
    /// Open braces.
    depth: usize,
}

impl Reader {
    fn read(&mut self, module: &mut Module) {
        let (mut files, mut public) = (Vec::new(), false);
        while let Some(token) = self.tokens.get(self.at).cloned() {
            match &token {
                Token::Other('#') if self.other(1) == Some('[') => {
                    let attribute = self.attribute();
                    if is_for_tests(&attribute) {
                        self.skip_item();
                    }
                    files.extend(path_in(&attribute));
                    continue;
                }
                Token::Name(word) if word == "pub" => {
                    public = true;
                    self.at += 1;
                    if self.other(0) == Some('(') {
                        self.skip_group('(', ')');
                    }
                    continue;
                }
                Token::Name(word) if word == "use" => self.import(module, public),
                Token::Name(word) if word == "mod" && self.other(2) == Some(';') => {
                    let name = self.name(1).expect("a module has a name").to_owned();
                    module.children.push((name, std::mem::take(&mut files)));
                    self.at += 2;
                }
                Token::Name(_) => self.name_or_path(module),
                Token::Other('{') => self.depth += 1,
                Token::Other('}') => {
                    self.depth -= 1;
                    self.inline.retain(|&depth| depth <= self.depth);
                }
                _ => {}
            }
            self.at += 1;
            public = false;
            files.clear();
        }
    }

    fn name(&self, ahead: usize) -> Option<&str> {
        match self.tokens.get(self.at + ahead)? {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }

    fn other(&self, ahead: usize) -> Option<char> {
        match self.tokens.get(self.at + ahead)? {
            Token::Other(other) => Some(*other),
            _ => None,
        }
    }

    /// Passes a group, at whose opening it stands.
    fn skip_group(&mut self, open: char, close: char) {
        let mut depth = 0;
        while let Some(token) = self.tokens.get(self.at) {
            depth += usize::from(*token == Token::Other(open));
            depth -= usize::from(*token == Token::Other(close));
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// The tokens of the attribute that begins here; moves past it.
    fn attribute(&mut self) -> Vec<Token> {
        self.at += 1;
        let from = self.at + 1;
        self.skip_group('[', ']');
        self.tokens[from..self.at - 1].to_vec()
    }

    /// Moves past an item, or a field, variant or statement: up to its `;` or `,`, or the end of its braces.
    fn skip_item(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Other('{') => return self.skip_group('{', '}'),
                Token::Other('(') => self.skip_group('(', ')'),
                Token::Other('[') => self.skip_group('[', ']'),
                Token::Other(';' | ',') => {
                    self.at += 1;
                    return;
                }
                Token::Other('}') => return,
                _ => self.at += 1,
            }
        }
    }

    /// A `use`, up to its `;`.
    fn import(&mut self, module: &mut Module, public: bool) {
        self.at += 1;
        self.tree(module, public, Vec::new());
    }

    /// A part of a `use`, up to the next `;`, `,` or `}`.
    fn tree(&mut self, module: &mut Module, public: bool, mut path: Path) {
        let mut name = None;
        loop {
            match self.tokens.get(self.at).expect("a `use` ends") {
                Token::Name(word) if word == "as" => {
                    name = self.name(1).map(str::to_owned);
                    self.at += 1;
                }
                Token::Name(word) => path.push(word.clone()),
                Token::Other('*') => path.push("*".to_owned()),
                Token::Other('{') => {
                    while self.other(0) != Some('}') {
                        self.at += 1;
                        if self.other(0) != Some('}') {
                            self.tree(module, public, path.clone());
                        }
                    }
                    self.at += 1;
                    return;
                }
                Token::Other(';' | ',' | '}') => break,
                _ => {}
            }
            self.at += 1;
        }
        let mut path = self.within_file(path);
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
        module.imports.push(Import { path, name, public });
    }

    /// A name that begins an item or a path, or neither.
    fn name_or_path(&mut self, module: &mut Module) {
        let word = self.name(0).expect("the caller saw it").to_owned();
        let declared = match (word.as_str(), self.name(1), self.other(1)) {
            ("macro_rules", _, Some('!')) => self.name(2),
            (word, Some(name), _) if ITEMS.contains(&word) => Some(name),
            _ => None,
        };
        if let Some(name) = declared.filter(|name| !ITEMS.contains(name) && *name != "mut") {
            module.items.insert(name.to_owned());
            if word == "mod" {
                self.inline.push(self.depth + 1);
            }
            return;
        }
        if word == "static" && self.name(1) == Some("mut") {
            module.items.extend(self.name(2).map(str::to_owned));
        }
        let mut path = vec![word];
        while self.tokens.get(self.at + 1) == Some(&Token::Colons)
            && let Some(next) = self.name(2)
        {
            path.push(next.to_owned());
            self.at += 2;
        }
        if path.len() > 1 {
            let path = self.within_file(path);
            module.paths.push(path);
        }
    }

    /// A path as it reads in the file's own module: modules within the file are part of it.
    fn within_file(&self, mut path: Path) -> Path {
        let inline = self.inline.len();
        if inline == 0 {
            return path;
        }
        let up = path.iter().take_while(|name| *name == "super").count();
        path.drain(..up.min(inline));
        if up > 0 && up <= inline {
            path.insert(0, "self".to_owned());
        }
        path
    }
}

/// `cfg(test)`, and the like.
fn is_for_tests(attribute: &[Token]) -> bool {
    let has = |word: &str| attribute.contains(&Token::Name(word.to_owned()));
    attribute.first() == Some(&Token::Name("cfg".to_owned())) && has("test") && !has("not")
}

/// The file that an attribute names for a module.
fn path_in(attribute: &[Token]) -> Option<String> {
    attribute.windows(3).find_map(|window| match window {
        [Token::Name(path), Token::Other('='), Token::Text(text)] if path == "path" => {
            Some(text.clone())
        }
        _ => None,
    })
}

#[test]
fn a_file_is_read() {
    let module = Module::of(
        r#"
        //! use crate::comment;
        pub(crate) use inner::{Shown, deeper::{self, Other as Another}};
        use crate::a::{b::C, *};
        #[cfg_attr(x, path = "x/mod.rs")] #[cfg_attr(y, path = "y/mod.rs")] mod arch;
        mod inner;
        pub const fn f(x: super::d::E) -> u8 { self::g::<u8>() + inner::h }
        static mut S: [u8; 2] = [0; 2];
        pub mod offsets { use super::f; use super::super::k; fn g() { super::f() } }
        #[cfg(test)] mod tests { use crate::only_in_tests; }
        #[cfg(not(test))] use crate::real;
        "#,
    );
    let child = |name: &str, files: &[&str]| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        (name.to_owned(), files)
    };
    assert_eq!(
        module.children,
        [
            child("arch", &["x/mod.rs", "y/mod.rs"]),
            child("inner", &[])
        ]
    );
    let items: Vec<_> = module.items.iter().map(String::as_str).collect();
    assert_eq!(items, ["S", "f", "g", "offsets"]);
    let import = |import: &Import| {
        let public = if import.public { "pub " } else { "" };
        format!("{public}{} as {}", import.path.join("::"), import.name)
    };
    let imports: Vec<String> = module.imports.iter().map(import).collect();
    assert_eq!(
        imports,
        [
            "pub inner::Shown as Shown",
            "pub inner::deeper as deeper",
            "pub inner::deeper::Other as Another",
            "crate::a::b::C as C",
            "crate::a::* as *",
            "self::f as f",
            "super::k as k",
            "crate::real as real"
        ]
    );
    let paths: Vec<String> = module.paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["super::d::E", "self::g", "inner::h", "self::f"]);
}
