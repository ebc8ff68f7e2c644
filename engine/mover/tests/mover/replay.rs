//! Replay of recorded changes: damaged files, selected keys, and commands that cannot be replayed.

use crate::changes::{SOURCE, TARGETS, changes};
use crate::lab::{Lab, PASSWORD};
use crate::recorder::{Recorder, joined};

#[test]
fn damaged_and_missing_files_are_reported() {
    let mut lab = Lab::new();
    for port in [SOURCE, TARGETS[0]] {
        lab.shard(port, &[]);
    }
    let base = lab.snapshot(SOURCE, "0-16383", "none").output;
    let recorder = Recorder::start(&lab, SOURCE, "");
    let after = recorder.last()["offset"].as_u64().unwrap();
    let mut recorder = recorder;
    let mut files = Vec::new();
    for round in 0..3 {
        changes(&lab, SOURCE, round);
        files.extend(recorder.next());
        recorder.request("stored");
    }
    recorder.stop();
    let content: Vec<Vec<u8>> = files.into_iter().map(|file| file.bytes).collect();
    let mut wrong = content[0].clone();
    let middle = wrong.len() / 2;
    wrong[middle] ^= 0xff;
    let half = &content[0][..middle];
    let cases: [(Vec<u8>, &str); 7] = [
        (b"RDB or something else".to_vec(), "not a file of recorded changes"),
        (zstd(b"hello world"), "have no valid start"),
        (Vec::new(), "cannot be read"),
        (wrong, "the changes after offset"),
        (half.to_vec(), "the changes after offset"),
        ([half, &content[1]].concat(), "the changes after offset"),
        ([&content[0][..], &content[2]].concat(), "are missing"),
    ];
    for (input, text) in cases {
        let outcome = lab.restore_with_changes(&TARGETS[..1], &base, &input, &format!("--after={after}"));
        let (code, message) = outcome.error();
        assert!(code == "file-corrupted" && message.contains(text), "{text}: {code} {message}");
    }
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

#[test]
fn changes_of_selected_keys_and_slots() {
    let mut lab = Lab::new();
    for port in [SOURCE, TARGETS[0]] {
        lab.shard(port, &[]);
    }
    let base = lab.snapshot(SOURCE, "0-16383", "none").output;
    let recorder = Recorder::start(&lab, SOURCE, "");
    let after = recorder.last()["offset"].as_u64().unwrap();
    for line in [
        "SET user:1 a",
        "MSET user:2 b other 1",
        "DEL user:1 other",
        "FLUSHALL",
        "SET user:3 c",
        "SET other 2",
    ] {
        lab.ask(SOURCE, line);
    }
    recorder.catch_up(&lab, SOURCE);
    let (files, _) = recorder.stop();
    lab.ask(TARGETS[0], "MSET user:9 old other mine");
    lab.restore(&TARGETS[..1], &base, "--before-changes --pattern=user:*").end();
    let options = format!("replay --targets=targets.json --user=default --after={after} --pattern=user:*");
    lab.mover(&options, PASSWORD, &joined(&files)).end();
    assert_eq!(
        lab.ask(TARGETS[0], "MGET user:1 user:2 user:3 user:9 other"),
        "*5\r\n$-1\r\n$-1\r\n$1\r\nc\r\n$-1\r\n$4\r\nmine\r\n"
    );

    // Slot 15495 belongs to "a", and slot 3300 to "b".
    let options = format!("replay --targets=targets.json --user=default --after={after} --slots=15495");
    lab.ask(TARGETS[0], "MSET a 1 b 2");
    lab.mover(&options, PASSWORD, &joined(&files)).end();
    assert_eq!(lab.ask(TARGETS[0], "MGET a b"), "*2\r\n$-1\r\n$1\r\n2\r\n");
}

#[test]
fn commands_that_cannot_be_replayed_are_named() {
    let mut lab = Lab::new();
    for port in [SOURCE, TARGETS[0], TARGETS[1]] {
        lab.shard(port, &[]);
    }
    let base = lab.snapshot(SOURCE, "0-16383", "none").output;
    for (lines, text) in [
        (&["SELECT 3", "SET secret 1"][..], "database other than 0"),
        (&["SET a secret", "RENAME a b"], "RENAME with keys of several slots"),
        (&["SWAPDB 0 1"], "SWAPDB cannot be replayed"),
    ] {
        let recorder = Recorder::start(&lab, SOURCE, "");
        let after = recorder.last()["offset"].as_u64().unwrap();
        let mut client = lab.client(SOURCE);
        for line in lines {
            assert!(!client.command(line).starts_with('-'));
        }
        recorder.catch_up(&lab, SOURCE);
        let (files, _) = recorder.stop();
        let outcome =
            lab.restore_with_changes(&TARGETS[..2], &base, &joined(&files), &format!("--after={after}"));
        let (code, message) = outcome.error();
        assert!(code == "general-error" && message.contains(text), "{code} {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}
