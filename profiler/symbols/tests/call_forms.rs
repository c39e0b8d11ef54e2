//! Every form of a call, hand-assembled (`programs/forms.s`).

mod fixture;

use evenkeel_symbols::{Callee, FindError, Module, Site, Unpatchable};
use evenkeel_wire::{Form, Operand};
use fixture::{Workshop, load};

const NONE: u8 = Operand::NONE;

fn module(workshop: &Workshop) -> Module {
    load(&workshop.build("forms", &["forms.s", "empty_main.c"], &["-Wl,-z,lazy"]))
}

fn sites(module: &Module, function: &str) -> Vec<Site> {
    module.call_sites(module.find(function).unwrap())
}

fn operand(base: u8, index: u8, scale: u8, displacement: i32) -> Operand {
    Operand {
        base,
        index,
        scale,
        register: 0,
        displacement,
    }
}

fn register(base: u8) -> Operand {
    Operand {
        base,
        index: NONE,
        scale: 1,
        register: 1,
        displacement: 0,
    }
}

#[test]
fn every_form() {
    let workshop = Workshop::new();
    let module = module(&workshop);
    let callee = Callee::Function(module.find("callee").unwrap());
    let puts = Callee::Import("puts".into());
    let import = |name: &str| Callee::Import(name.into());
    let pointer = || Callee::Pointer;
    use Unpatchable::*;
    let expected: Vec<(u8, Callee, Result<Form, Unpatchable>)> = vec![
        (5, callee.clone(), Ok(Form::Call)),
        (5, callee.clone(), Ok(Form::Call)),
        (5, callee.clone(), Ok(Form::Call)),
        (5, puts.clone(), Ok(Form::Call)),
        (6, puts.clone(), Ok(Form::IndirectCall)),
        (2, pointer(), Ok(Form::ShortIndirectCall)),
        (3, pointer(), Ok(Form::ShortIndirectCall)),
        (2, pointer(), Ok(Form::ShortIndirectCall)),
        (4, pointer(), Ok(Form::ShortIndirectCall)),
        (6, pointer(), Ok(Form::IndirectCall)),
        (5, pointer(), Ok(Form::IndirectCall)),
        (7, pointer(), Ok(Form::IndirectCall)),
        (5, pointer(), Ok(Form::IndirectCall)),
        (4, pointer(), Err(UnusualForm)),
        (3, pointer(), Err(UnusualForm)),
        (5, Callee::Function(0), Err(ReadsInstructionPointer)),
        (5, import("_setjmp"), Err(ReturnsTwice)),
        (5, import("dlsym"), Err(CallerSensitive)),
        (5, import("abort"), Err(NeverReturns)),
        (8, import("__tls_get_addr"), Err(CallerSensitive)),
        (2, callee.clone(), Err(ConditionalTailJump)),
        (3, pointer(), Ok(Form::IndirectJump)),
        (5, puts.clone(), Ok(Form::TailJump)),
        (5, callee.clone(), Ok(Form::TailJump)),
        (5, callee.clone(), Ok(Form::TailJump)),
        (2, callee.clone(), Err(ShortTailJump)),
    ];
    let sites = sites(&module, "every_form");
    for (number, (site, (len, callee, form))) in sites.iter().zip(&expected).enumerate() {
        assert_eq!(
            (site.len, site.form),
            (*len, *form),
            "site {number}: {site:x?}"
        );
        if form != &Err(ReadsInstructionPointer) {
            assert_eq!(&site.callee, callee, "site {number}: {site:x?}");
        }
    }
    assert_eq!(sites.len(), expected.len());

    let operands: Vec<Operand> = sites.iter().filter_map(|site| site.operand).collect();
    let [through_table, rest @ ..] = &operands[..] else {
        panic!("no operands")
    };
    assert_eq!(
        (
            through_table.base,
            through_table.index,
            through_table.register
        ),
        (Operand::RIP, NONE, 0)
    );
    let expected = [
        register(0),
        register(11),
        operand(3, NONE, 1, 0),
        operand(4, NONE, 1, 8),
        operand(7, NONE, 1, 0x100),
        operand(0, 9, 8, 0x10),
        operand(NONE, 1, 4, 0x1000),
        operand(12, NONE, 1, -8),
        operand(7, NONE, 1, 24), // the tail call
    ];
    assert_eq!(rest, expected);
}

/// The form that an agent relies on: five bytes of opcode and offset, which lead from the end to the target.
#[test]
fn direct_sites_hold_opcode_and_offset() {
    let workshop = Workshop::new();
    let module = module(&workshop);
    for site in sites(&module, "every_form") {
        let opcode = match site.form {
            Ok(Form::Call) => 0xe8,
            Ok(Form::TailJump) => 0xe9,
            _ => continue,
        };
        assert_eq!((site.len, site.bytes[0]), (5, opcode), "{site:x?}");
        let offset = i32::from_le_bytes(site.bytes[1..5].try_into().unwrap());
        assert_eq!(
            site.address
                .wrapping_add(5)
                .wrapping_add_signed(i64::from(offset)),
            site.target
        );
        assert!(site.bytes[5..].iter().all(|&byte| byte == 0));
    }
}

/// MariaDB 10.2.11 is compiled so: its handlers leave for the storage engine by such jumps.
#[test]
fn a_frame_that_was_just_left_is_gone_whatever_its_description_says() {
    let workshop = Workshop::new();
    let module = module(&workshop);
    let sites = sites(&module, "old_epilogue");
    let forms: Vec<_> = sites.iter().map(|site| (site.form, site.operand)).collect();
    assert_eq!(forms, [(Ok(Form::IndirectJump), Some(register(11)))]);
}

#[test]
fn nothing_is_listed_behind_undecodable_code() {
    let workshop = Workshop::new();
    let module = module(&workshop);
    let forms: Vec<_> = sites(&module, "broken")
        .iter()
        .map(|site| site.form)
        .collect();
    assert_eq!(forms, [Ok(Form::Call), Err(Unpatchable::Undecodable)]);
}

#[test]
fn indirect_functions_are_called_but_not_entered() {
    let workshop = Workshop::new();
    let module = module(&workshop);
    let sites = sites(&module, "chosen");
    assert_eq!(sites.len(), 1);
    assert_eq!(
        (&sites[0].callee, sites[0].form),
        (&Callee::Import("chooser".into()), Ok(Form::Call))
    );
    assert_eq!(
        module.find("chooser"),
        Err(FindError::Indirect {
            name: "chooser".to_owned()
        })
    );
    let resolvers = module
        .functions()
        .iter()
        .filter(|function| module.symbol(function.entry) == Some("chooser"));
    let refusals: Vec<_> = resolvers
        .map(|resolver| module.displaced(resolver.entry))
        .collect();
    assert_eq!(refusals, [Err(Unpatchable::Resolver)]);
}

#[test]
fn callers_of_functions_and_imports() {
    let workshop = Workshop::new();
    let module = module(&workshop);
    let entry = module.find("every_form").unwrap();
    let from_here = |target: u64| {
        module
            .callers_of(target)
            .iter()
            .filter(|caller| caller.function == entry)
            .count()
    };
    // Three calls, a conditional, two near and one short tail jump.
    assert_eq!(from_here(module.find("callee").unwrap()), 7);
    let stubs = module.import_stubs("puts");
    assert_eq!(stubs.iter().map(|&stub| from_here(stub)).sum::<usize>(), 2);
    assert_eq!(module.name(stubs[0]), "puts");
}
