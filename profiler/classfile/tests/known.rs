//! Classes made by hand, and the bytes they must become.

use evenkeel_classfile::{
    Argument, CallKind, Class, Error, Helper, Limits, MethodProbes, Plan, Reason, Rewritten,
};

fn u2(value: usize) -> [u8; 2] {
    u16::try_from(value).expect("two bytes").to_be_bytes()
}

fn u4(value: usize) -> [u8; 4] {
    u32::try_from(value).expect("four bytes").to_be_bytes()
}

fn utf8(text: &str) -> Vec<u8> {
    [&[1][..], &u2(text.len()), text.as_bytes()].concat()
}

/// The `Code` attribute of a method, whose name is constant 8.
fn code(bytes: &[u8], exceptions: &[[u16; 4]], attributes: &[Vec<u8>]) -> Vec<u8> {
    let mut content = [
        &u2(2)[..],
        &u2(1),
        &u4(bytes.len()),
        bytes,
        &u2(exceptions.len()),
    ]
    .concat();
    content.extend(
        exceptions
            .iter()
            .flatten()
            .flat_map(|part| part.to_be_bytes()),
    );
    content.extend(u2(attributes.len()));
    content.extend(attributes.concat());
    attribute(8, &content)
}

fn attribute(name: usize, content: &[u8]) -> Vec<u8> {
    [&u2(name)[..], &u4(content.len()), content].concat()
}

/// `class Made { static int m(int); }`, of Java 17: the constants 1 to 12, then the method with what is given.
fn made(flags: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    let constants = [
        utf8("Made"),             // 1
        vec![7, 0, 1],            // 2: class Made
        utf8("m"),                // 3
        utf8("(I)I"),             // 4
        vec![12, 0, 3, 0, 4],     // 5: m(I)I
        vec![10, 0, 2, 0, 5],     // 6: Made.m(I)I
        utf8("java/lang/Object"), // 7
        utf8("Code"),             // 8
        utf8("LineNumberTable"),  // 9
        utf8("StackMapTable"),    // 10
        utf8("Secret"),           // 11
        vec![7, 0, 7],            // 12: class Object
    ];
    let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61];
    class.extend(u2(constants.len() + 1));
    class.extend(constants.concat());
    class.extend([0, 0x20, 0, 2, 0, 12, 0, 0, 0, 0, 0, 1]);
    class.extend(flags.to_be_bytes());
    class.extend([0, 3, 0, 4]);
    class.extend(u2(attributes.len()));
    class.extend(attributes.concat());
    class.extend([0, 0]);
    class
}

const STATIC: u16 = 8;

/// `iload_0, invokestatic m, ireturn`
const CALLS: [u8; 5] = [26, 184, 0, 6, 172];

fn rewritten(class: &[u8], body: Option<u32>, calls: &[(u16, u32)], limits: &Limits) -> Rewritten {
    let probes = MethodProbes {
        body,
        calls: calls.iter().copied().collect(),
        label: None,
    };
    instrumented(class, probes, limits)
}

fn instrumented(class: &[u8], probes: MethodProbes, limits: &Limits) -> Rewritten {
    let class = Class::read(class).expect("it is well formed");
    let plan = Plan {
        methods: [(0, probes)].into(),
    };
    class.instrument(&plan, &Helper { class: "P" }, limits)
}

fn refusal(class: &[u8]) -> Reason {
    let mut rewritten = rewritten(class, Some(1), &[], &Limits::default());
    assert_eq!(rewritten.class, None, "nothing is changed");
    assert_eq!(rewritten.refused[0].class, "Made");
    rewritten.refused.remove(0).reason
}

#[test]
fn a_body_is_entered_with_its_label() {
    let before = made(STATIC, &[code(&CALLS, &[], &[])]);
    let class = Class::read(&before).unwrap();
    let method = class.methods().next().unwrap();
    assert_eq!(method.argument(0), Ok(Some(Argument::Int(0))));
    assert_eq!(method.argument(1), Ok(None));
    let probes = MethodProbes {
        body: Some(7),
        label: Some(Argument::Int(0)),
        ..MethodProbes::default()
    };
    let rewritten = instrumented(&before, probes, &Limits::default());
    let rewritten = rewritten.class.expect("it is rewritten");
    // The stack has room for the number of the probe and a long; constant 20 is `enter(IJ)I`.
    let head = [
        &u2(3)[..],                                     // max_stack
        &u2(3),                                         // max_locals
        &u4(35),                                        // bytes of code
        &[17, 0, 7, 26 - 5, 0, 133, 184, 0, 20, 54, 1], // sipush 7, iload 0, i2l, invokestatic, istore 1
        &CALLS[..4],
    ]
    .concat();
    let is_there = rewritten.windows(head.len()).any(|bytes| bytes == head);
    assert!(is_there, "{rewritten:?}");
    // Of an object the second argument lies behind `this` and the first.
    let before = made(0, &[code(&CALLS, &[], &[])]);
    let class = Class::read(&before).unwrap();
    let method = class.methods().next().unwrap();
    assert_eq!(method.argument(0), Ok(Some(Argument::Int(1))));
}

#[test]
fn a_call_is_entered_and_left_however_it_ends() {
    let lines = attribute(9, &[0, 1, 0, 0, 0, 42]);
    let before = made(STATIC, &[code(&CALLS, &[], &[lines])]);
    let class = Class::read(&before).unwrap();
    let sites = class.methods().next().unwrap().call_sites().unwrap();
    assert_eq!(
        (sites[0].pc, sites[0].line, sites[0].kind),
        (1, Some(42), CallKind::Static)
    );
    assert_eq!(sites[0].class.as_deref(), Some("Made"));

    let rewritten = rewritten(&before, None, &[(1, 7)], &Limits::default());
    // Constants are added: 13 P, 14 class P, 15 enter, 16 enter(I)I, 17 P.enter(I)I, 18 exit, 19 (I)V, 20 exit(I)V, 21 P.exit(I)V,
    // 22 java/lang/Throwable, 23 class Throwable.
    let code = [
        2, 54, 1,  // 0: iconst_m1, istore 1
        26, // 3: iload_0
        17, 0, 7, 184, 0, 17, 54, 1, // 4: sipush 7, invokestatic enter, istore 1
        184, 0, 6, // 12: invokestatic m
        21, 1, 184, 0, 21,  // 15: iload 1, invokestatic exit
        172, // 20: ireturn
        58, 2, // 21: astore 2
        21, 1, 184, 0, 21, // 23: iload 1, invokestatic exit
        25, 2, 191, // 28: aload 2, athrow
        87, 167, 0xff, 0xfc, // 31: pop, goto 28
    ];
    let exceptions = [0, 2, 0, 23, 0, 28, 0, 31, 0, 0, 0, 3, 0, 21, 0, 21, 0, 0];
    let lines = attribute(9, &[0, 1, 0, 3, 0, 42]);
    let frames = attribute(
        10,
        &[
            0, 3, // three frames, all of them full
            255, 0, 21, 0, 2, 0, 1, 0, 1, 7, 0, 23, // 21: top, int; Throwable
            255, 0, 6, 0, 3, 0, 1, 7, 0, 23, 0, 0, // 28: top, int, Throwable
            255, 0, 2, 0, 3, 0, 1, 7, 0, 23, 0, 1, 7, 0, 23, // 31: the same; Throwable
        ],
    );
    let content = [
        &u2(3)[..],
        &u2(3),
        &u4(code.len()),
        &code,
        &exceptions,
        &u2(2),
        &lines,
        &frames,
    ]
    .concat();
    let after = rewritten.class.expect("rewritten");
    let end = [&attribute(8, &content)[..], &[0, 0]].concat();
    assert_eq!(&after[after.len() - end.len()..], end);
    assert_eq!(
        (
            rewritten.methods[0].bytes_before,
            rewritten.methods[0].bytes_after
        ),
        (5, 35)
    );
}

#[test]
fn handlers_and_branches_keep_their_meaning() {
    // 0: iload_0, ifeq 8; 4: iload_0, invokestatic m, ireturn... with a handler of all at 9 that returns 0
    let bytes = [26, 153, 0, 7, 26, 184, 0, 6, 26, 172, 87, 3, 172];
    let frames = attribute(10, &[0, 2, 8, 65, 7, 0, 12]);
    let verified = made(STATIC, &[code(&bytes, &[[4, 8, 10, 0]], &[frames])]);
    calls_are_entered_and_left(&verified);
    // As the JVM gives its own classes: nobody verifies them.
    calls_are_entered_and_left(&made(STATIC, &[code(&bytes, &[[4, 8, 10, 0]], &[])]));
}

#[track_caller]
fn calls_are_entered_and_left(before: &[u8]) {
    let after = rewritten(before, None, &[(5, 40_000)], &Limits::default())
        .class
        .expect("rewritten");
    let class = Class::read(&after).unwrap();
    // The call lies behind head (3), iload_0 and ifeq (4), iload_0 (1) and enter (8).
    let own = class.methods().next().unwrap().call_sites().unwrap();
    let own: Vec<(u16, &str)> = own
        .iter()
        .map(|site| (site.pc, site.method.as_str()))
        .collect();
    assert_eq!(
        own,
        [
            (11, "enter"),
            (16, "m"),
            (21, "exit"),
            (30, "exit"),
            (46, "exit")
        ]
    );
    // ldc_w of 40,000, since sipush does not reach it
    assert!(
        after
            .windows(5)
            .any(|window| window == [3, 0, 0, 0x9c, 0x40])
    );
    // The branch leads to the iload_0 at 24.
    assert!(after.windows(3).any(|window| window == [153, 0, 20]));
}

#[test]
fn methods_that_cannot_be_rewritten_are_refused_with_their_reason() {
    assert_eq!(refusal(&made(STATIC | 0x100, &[])), Reason::NoCode);
    let secret = attribute(11, &[0]);
    let with_secret = made(STATIC, &[code(&CALLS, &[], &[secret])]);
    assert_eq!(
        refusal(&with_secret),
        Reason::UnknownAttribute("Secret".into())
    );
    // nop, jsr 5; nop; astore_0, ret 0
    let subroutine = made(STATIC, &[code(&[0, 168, 0, 3, 75, 169, 0], &[], &[])]);
    assert_eq!(refusal(&subroutine), Reason::Subroutine { pc: 1 });
    let damaged = made(STATIC, &[code(&[254], &[], &[])]);
    assert!(matches!(
        refusal(&damaged),
        Reason::Damaged(Error::Malformed { .. })
    ));
    let reversed = made(STATIC, &[code(&CALLS, &[[4, 4, 0, 0]], &[])]);
    assert!(matches!(
        refusal(&reversed),
        Reason::Damaged(Error::Malformed { .. })
    ));

    let fine = made(STATIC, &[code(&CALLS, &[], &[])]);
    let no_call = rewritten(&fine, None, &[(0, 1)], &Limits::default());
    assert_eq!(no_call.refused[0].reason, Reason::NoCall { pc: 0 });
    assert_eq!(
        no_call.refused[0].to_string(),
        "Made.m(I)I gets no probes: no method is called at byte 0: the class is another one than was planned for"
    );
}

#[test]
fn methods_that_would_not_be_compiled_are_refused() {
    let of = |count: usize| {
        made(
            STATIC,
            &[code(&[&vec![0; count][..], &CALLS].concat(), &[], &[])],
        )
    };
    // Rewriting adds 30 bytes: 35 for 5, as above.
    let call = |count: usize| {
        rewritten(
            &of(count),
            None,
            &[(count as u16 + 1, 1)],
            &Limits::default(),
        )
    };
    assert_eq!(call(8_000 - 35).methods[0].bytes_after, 8_000);
    let refused = call(8_000 - 34).refused.remove(0).reason;
    assert_eq!(
        refused,
        Reason::NotCompiled {
            bytes: 8_001,
            limit: 8_000
        }
    );
    // HotSpot interprets this one anyway.
    assert_eq!(call(8_000).methods[0].bytes_before, 8_005);
    assert_eq!(
        call(65_530).refused[0].reason,
        Reason::TooLong { bytes: 65_565 }
    );
}

#[test]
fn a_conditional_branch_with_no_jump_in_reach_is_refused() {
    // iload_0, ifeq to the end; 32,000 nops, with two calls; return
    let mut bytes = [&[26, 153, 0x7d, 0x20][..], &vec![0; 32_000 - 3 - 20]].concat();
    for _ in 0..4 {
        bytes.extend([26, 184, 0, 6, 87]);
    }
    bytes.extend([26, 172]);
    // The target is the iload_0 after the calls.
    let target = bytes.len() - 2;
    bytes[2..4].copy_from_slice(&u2(target - 1));
    let frames = |bytes: &[u8]| attribute(10, &[&[0, 1, 251][..], &u2(bytes.len() - 2)].concat());
    let class = made(STATIC, &[code(&bytes, &[], &[frames(&bytes)])]);
    let call = |nth: usize| (u16::try_from(target - 20 + 5 * nth + 1).unwrap(), 1);
    assert!(
        rewritten(&class, None, &[call(0)], &Limits::default())
            .refused
            .is_empty(),
        "in reach"
    );

    // 900 bytes more, and the branch no longer reaches.
    let mut longer = [&bytes[..4], &vec![0; 760], &bytes[4..]].concat();
    let target = longer.len() - 2;
    longer[2..4].copy_from_slice(&u2(target - 1));
    let class = made(STATIC, &[code(&longer, &[], &[frames(&longer)])]);
    let call = |nth: usize| (u16::try_from(target - 20 + 5 * nth + 1).unwrap(), 1);
    let refused = rewritten(&class, None, &[call(0), call(1)], &Limits::default()).refused;
    assert_eq!(refused[0].reason, Reason::FarBranch { pc: 1 });
}
