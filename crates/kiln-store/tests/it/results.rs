//! Answers of functions in directories that are damaged, hostile, full or read-only.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kiln_store::{KeyHasher, OpenResultsError, ResultCache, ResultKey, ResultKind, ResultLimits};
use rustix::mount::MountFlags;

use crate::open::{Disk, skip};

const IDENTITY: &str = "wasm:sha256:0011";

fn open(store: &Path) -> ResultCache {
    ResultCache::open(store, ResultLimits::default()).unwrap()
}

fn key(name: &str) -> ResultKey {
    KeyHasher::new(1).field(name.as_bytes()).finish()
}

fn file_of(store: &Path, key: &ResultKey) -> PathBuf {
    let hex = key.hex();
    ResultCache::path(store).join(&hex[..2]).join(hex)
}

fn read(cache: &ResultCache, key: &ResultKey) -> Option<Vec<u8>> {
    cache.read(ResultKind::Answer, key, IDENTITY)
}

fn write(cache: &ResultCache, key: &ResultKey, payload: &[u8]) {
    cache
        .write(ResultKind::Answer, key, IDENTITY, payload)
        .unwrap();
}

#[test]
fn an_answer_is_read_as_it_was_written() {
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    let key = key("a");
    assert_eq!(read(&cache, &key), None);
    write(&cache, &key, b"answer");
    assert_eq!(read(&cache, &key).as_deref(), Some(&b"answer"[..]));
    assert_eq!(
        read(&open(store.path()), &key).as_deref(),
        Some(&b"answer"[..])
    );
    assert_eq!(cache.read(ResultKind::Render, &key, IDENTITY), None);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = file_of(store.path(), &key);
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(mode(&ResultCache::path(store.path())), 0o700);
    cache.remove(ResultKind::Answer, &key);
    assert_eq!(read(&cache, &key), None);
}

/// Whatever is in the file, it is a miss, and the file is removed so that the next answer can take its place.
#[track_caller]
fn check_removed(prepare: impl FnOnce(&Path)) {
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    let key = key("a");
    write(&cache, &key, b"answer");
    let file = file_of(store.path(), &key);
    prepare(&file);
    assert_eq!(read(&cache, &key), None);
    assert!(file.symlink_metadata().is_err(), "the file is still there");
    write(&cache, &key, b"again");
    assert_eq!(read(&cache, &key).as_deref(), Some(&b"again"[..]));
}

#[test]
fn damaged_entries_are_misses() {
    check_removed(|file| fs::write(file, b"").unwrap());
    check_removed(|file| fs::write(file, b"kilnres\n").unwrap());
    check_removed(|file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    });
    check_removed(|file| {
        let mut bytes = fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).unwrap();
    });
    check_removed(|file| {
        let huge = fs::File::options().write(true).open(file).unwrap();
        huge.set_len((64 << 20) + 1).unwrap();
    });
}

#[test]
fn an_entry_under_the_name_of_another_is_a_miss() {
    check_removed(|file| {
        let elsewhere = tempfile::tempdir().unwrap();
        let other = key("other");
        write(&open(elsewhere.path()), &other, b"other answer");
        fs::copy(file_of(elsewhere.path(), &other), file).unwrap();
    });
    // The same key for another function.
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    write(&cache, &key("a"), b"answer");
    let other = cache.read(ResultKind::Answer, &key("a"), "wasm:sha256:2");
    assert_eq!(other, None);
}

#[test]
fn links_are_not_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("entry");
    check_removed(|file| {
        fs::rename(file, &target).unwrap();
        symlink(&target, file).unwrap();
    });
    assert!(target.exists());

    // A link in the place of a directory: nothing is read or written through it.
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    let key = key("a");
    write(&cache, &key, b"answer");
    let shard = file_of(store.path(), &key).parent().unwrap().to_owned();
    fs::rename(&shard, elsewhere.path().join("shard")).unwrap();
    symlink(elsewhere.path().join("shard"), &shard).unwrap();
    assert_eq!(read(&cache, &key), None);
    let written = cache.write(ResultKind::Answer, &key, IDENTITY, b"new");
    assert!(written.is_err());

    // A link in the place of the whole directory.
    let store = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), ResultCache::path(store.path())).unwrap();
    let opened = ResultCache::open(store.path(), ResultLimits::default());
    assert!(matches!(opened, Err(OpenResultsError::Io { .. })));
}

#[test]
fn entries_that_others_can_change_are_misses() {
    check_removed(|file| {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    });
    if rustix::process::geteuid().is_root() {
        check_removed(|file| chown(file, Some(12345), None).unwrap());
    } else {
        skip("entries_that_others_can_change_are_misses", &"not root");
    }
}

#[test]
fn directories_of_others_are_refused() {
    let store = tempfile::tempdir().unwrap();
    drop(open(store.path()));
    let results = ResultCache::path(store.path());
    let refused = || ResultCache::open(store.path(), ResultLimits::default()).err();
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&results, 0o750);
    assert!(matches!(
        refused(),
        Some(OpenResultsError::NotPrivate { .. })
    ));
    set_mode(&results, 0o700);
    set_mode(store.path(), 0o777);
    assert!(matches!(refused(), Some(OpenResultsError::Store(_))));
    set_mode(store.path(), 0o700);
    assert!(refused().is_none());
    if rustix::process::geteuid().is_root() {
        chown(&results, Some(12345), None).unwrap();
        assert!(matches!(
            refused(),
            Some(OpenResultsError::NotPrivate { .. })
        ));
    }
}

#[test]
fn writers_and_readers_do_not_disturb_each_other() {
    let store = tempfile::tempdir().unwrap();
    let keys: Vec<ResultKey> = (0..4).map(|n| key(&n.to_string())).collect();
    let payload = |n: usize| vec![u8::try_from(n).unwrap(); 100_000];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // As in another process: a cache of its own.
                let cache = open(store.path());
                for _ in 0..50 {
                    for (n, key) in keys.iter().enumerate() {
                        if let Some(found) = read(&cache, key) {
                            assert_eq!(found, payload(n));
                        }
                        write(&cache, key, &payload(n));
                    }
                }
            });
        }
    });
    let cache = open(store.path());
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(read(&cache, key), Some(payload(n)));
        let shard = file_of(store.path(), key).parent().unwrap().to_owned();
        let names = fs::read_dir(shard).unwrap();
        let partial = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_string_lossy().ends_with(".partial")
        };
        assert_eq!(names.flatten().filter(partial).count(), 0);
    }
}

#[test]
fn the_least_recently_used_go_first() {
    let store = tempfile::tempdir().unwrap();
    let limits = ResultLimits {
        size: 1 << 20,
        entries: 3,
    };
    let cache = ResultCache::open(store.path(), limits).unwrap();
    let set_age = |key: &ResultKey, hours: u64| {
        let file = fs::File::options()
            .write(true)
            .open(file_of(store.path(), key));
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        file.unwrap().set_modified(time).unwrap();
    };
    let keys: Vec<ResultKey> = (0..5).map(|n| key(&n.to_string())).collect();
    for (key, hours) in keys.iter().zip([5, 4, 3, 2, 1]) {
        write(&cache, key, b"answer");
        set_age(key, hours);
    }
    // Used now, so that it stays.
    assert!(read(&cache, &keys[0]).is_some());
    cache.trim();
    let kept: Vec<bool> = keys.iter().map(|key| read(&cache, key).is_some()).collect();
    assert_eq!(kept, [true, false, false, true, true]);

    // By size.
    let large = vec![0; 700_000];
    write(&cache, &keys[1], &large);
    write(&cache, &keys[2], &large);
    set_age(&keys[1], 10);
    cache.trim();
    assert_eq!(read(&cache, &keys[1]), None);
    assert!(read(&cache, &keys[2]).is_some());
}

#[test]
fn what_killed_writers_left_is_removed() {
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    write(&cache, &key("a"), b"answer");
    let shard = file_of(store.path(), &key("a"))
        .parent()
        .unwrap()
        .to_owned();
    let [old, new] = ["1-1-1.partial", "2-2-2.partial"].map(|name| shard.join(name));
    fs::write(&new, b"x").unwrap();
    fs::write(&old, b"x").unwrap();
    let file = fs::File::options().write(true).open(&old).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(7200))
        .unwrap();
    cache.trim();
    assert!(!old.exists());
    assert!(new.exists());
}

#[test]
fn entries_that_are_too_large_are_not_kept() {
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    write(&cache, &key("a"), &vec![0; 64 << 20]);
    assert_eq!(read(&cache, &key("a")), None);
    assert!(!file_of(store.path(), &key("a")).exists());
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let test = "a_full_disk_leaves_nothing_behind";
    let Some(disk) = Disk::mount(test, MountFlags::empty(), c"size=256k,mode=700") else {
        return;
    };
    let cache = open(disk.path());
    write(&cache, &key("small"), b"answer");
    let large = vec![0; 1 << 20];
    let full = cache.write(ResultKind::Answer, &key("large"), IDENTITY, &large);
    assert!(full.is_err());
    assert_eq!(read(&cache, &key("large")), None);
    assert_eq!(read(&cache, &key("small")).as_deref(), Some(&b"answer"[..]));
    let shard = file_of(disk.path(), &key("large"))
        .parent()
        .unwrap()
        .to_owned();
    assert_eq!(fs::read_dir(shard).unwrap().count(), 0);
}

#[test]
fn a_read_only_disk_still_answers() {
    let test = "a_read_only_disk_still_answers";
    let Some(disk) = Disk::mount(test, MountFlags::empty(), c"size=1m,mode=700") else {
        return;
    };
    write(&open(disk.path()), &key("a"), b"answer");
    rustix::mount::mount_remount(disk.path(), MountFlags::RDONLY, c"").unwrap();
    let cache = open(disk.path());
    assert_eq!(read(&cache, &key("a")).as_deref(), Some(&b"answer"[..]));
    let written = cache.write(ResultKind::Answer, &key("b"), IDENTITY, b"answer");
    assert!(written.is_err());
}

#[test]
fn impure_functions_are_remembered() {
    let store = tempfile::tempdir().unwrap();
    let cache = open(store.path());
    assert!(!cache.is_impure(IDENTITY));
    cache.mark_impure(IDENTITY).unwrap();
    assert!(cache.is_impure(IDENTITY));
    assert!(!cache.is_impure("wasm:sha256:2"));
    let marks = ResultCache::path(store.path()).join("impure");
    let mark = fs::read_dir(marks).unwrap().next().unwrap().unwrap().path();
    let since = |seconds: u64| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let text = format!("{} {IDENTITY}\n", now.unwrap().as_secs() - seconds);
        fs::write(&mark, text).unwrap();
        cache.is_impure(IDENTITY)
    };
    let day = 24 * 3600;
    assert!(since(29 * day));
    fs::write(&mark, "99999999999 x\n").unwrap();
    assert!(cache.is_impure(IDENTITY), "a clock that was set back");
    fs::write(&mark, "?").unwrap();
    assert!(cache.is_impure(IDENTITY));
    assert!(!since(31 * day));
    assert!(!mark.exists());
}
