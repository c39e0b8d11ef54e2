//! The tables of RESULTS.md, as Markdown.
//!
//! ```console
//! $ cargo run --release -p evenkeel-simulate --example tables            # all, some minutes
//! $ cargo run --release -p evenkeel-simulate --example tables -- skew    # one
//! ```

mod beyond;
mod cells;
mod deadlocks;
mod settings;
mod simulated;

const PAPERS: &str = "fifo,random,vats,mlf,mblf,ddf,ldsf,bldsf";
const OWN: &str = "svats,edsf,ldaf:1,ldaf,hldaf";

type Table = (&'static str, fn());

const TABLES: [Table; 3] = [
    ("deadlocks", deadlocks::by_order),
    ("beyond", beyond::micro),
    ("beyond-tpcc", beyond::tpcc),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for name in &wanted {
        let known = TABLES.iter().any(|(table, _)| table == name);
        assert!(
            known,
            "no table {name}; there are {:?}",
            TABLES.map(|(name, _)| name)
        );
    }
    for (name, print) in TABLES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("## {name}\n");
            print();
        }
    }
}
