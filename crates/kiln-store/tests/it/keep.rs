//! What a store keeps: collection, removal, verification and archives.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use kiln_oci::{ArchiveLimits, Digest, ImageReference, LayerBuilder, PullPolicy, read_archive};
use kiln_store::{ArchiveError, CollectLimits, Damage, Removed, StoreError};

use crate::images::{TestStore, amd64, image, layer, pull};
use crate::registry::TestRegistry;

const NO_AGE: Duration = Duration::from_secs(1_000_000_000);

/// A registry and a store with the images `a/1:v1`, `a/2:v1` and `a/3:v1`, which share a layer. The first one was used least
/// recently.
fn three_images() -> (TestRegistry, TestStore, Vec<Digest>) {
    let registry = TestRegistry::start();
    let test = TestStore::new();
    let mut digests = Vec::new();
    for number in 1..=3_u8 {
        let base = layer("base", b"base");
        let own = layer("own", &vec![number; 100_000]);
        let (layout, root) = image(vec![base, own]);
        let name = format!("a/{number}:v1");
        registry.add(&name, &layout, &root);
        let reference = registry.reference(&name);
        pull(
            &test.store,
            &registry.client(),
            &reference,
            PullPolicy::Always,
        )
        .unwrap();
        set_last_use(
            &test,
            &root.digest,
            Duration::from_secs(100_000 - u64::from(number)),
        );
        digests.push(root.digest);
    }
    (registry, test, digests)
}

fn set_last_use(test: &TestStore, digest: &Digest, age: Duration) {
    let file = fs::File::options()
        .write(true)
        .open(image_path(test, digest).join(".use"));
    file.unwrap().set_modified(SystemTime::now() - age).unwrap();
}

fn image_path(test: &TestStore, digest: &Digest) -> std::path::PathBuf {
    let roots = test.store.directory().join("roots");
    roots.join(format!("{}.1", digest.to_string().replace(':', "-")))
}

fn kept(test: &TestStore) -> Vec<Digest> {
    let images = test.store.list().unwrap().into_iter();
    images.map(|image| image.meta.manifest_digest).collect()
}

#[test]
fn collection_removes_the_least_recently_used() {
    let (registry, test, digests) = three_images();
    let everything = CollectLimits {
        size: u64::MAX,
        age: NO_AGE,
    };
    let collected = test.store.collect(&everything).unwrap();
    assert_eq!(collected.images, []);
    assert_eq!(collected.blobs, Some(0));
    assert_eq!(test.entries("blobs/sha256").len(), 3 * 3 + 1);

    let limits = CollectLimits {
        size: 250_000,
        age: NO_AGE,
    };
    let collected = test.store.collect(&limits).unwrap();
    assert_eq!(collected.images, [digests[0].clone()]);
    assert_eq!(
        collected.blobs,
        Some(3),
        "manifest, config and layer; the shared layer stays"
    );
    assert!(collected.freed > 100_000);
    assert_eq!(test.entries("refs").len(), 2);
    assert_eq!(test.entries("tmp"), [""; 0]);
    let reference = registry.reference("a/1:v1");
    assert!(test.store.find(&reference, &amd64()).unwrap().is_none());
    assert!(test.store.verify().unwrap().damages.is_empty());

    // It can be pulled again, without the shared layer.
    registry.requests();
    pull(
        &test.store,
        &registry.client(),
        &reference,
        PullPolicy::IfNotPresent,
    )
    .unwrap();
    assert_eq!(registry.requests().len(), 3);
}

#[test]
fn collection_removes_by_age() {
    let (_, test, digests) = three_images();
    set_last_use(&test, &digests[1], Duration::from_secs(10));
    let limits = CollectLimits {
        size: u64::MAX,
        age: Duration::from_secs(60),
    };
    let mut collected = test.store.collect(&limits).unwrap().images;
    collected.sort();
    let mut expected = vec![digests[0].clone(), digests[2].clone()];
    expected.sort();
    assert_eq!(collected, expected);
    assert_eq!(kept(&test), [digests[1].clone()]);
}

#[test]
fn an_image_in_use_stays() {
    let (registry, test, digests) = three_images();
    let reference = registry.reference("a/1:v1");
    let used = test.store.find(&reference, &amd64()).unwrap().unwrap();
    let nothing = CollectLimits {
        size: 0,
        age: Duration::ZERO,
    };
    let collected = test.store.collect(&nothing).unwrap();
    assert_eq!((collected.images.len(), collected.in_use), (2, 1));
    assert_eq!(kept(&test), [digests[0].clone()]);
    assert!(used.root_path().join("own").exists());
    let error = test.store.remove(&digests[0]).unwrap_err();
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    drop(used);
    set_last_use(&test, &digests[0], Duration::from_secs(10));
    test.store.collect(&nothing).unwrap();
    assert_eq!(kept(&test), []);
    for name in ["blobs/sha256", "refs", "roots", "tmp", "locks"] {
        assert_eq!(test.entries(name), [""; 0], "{name}");
    }
}

#[test]
fn a_use_is_noted() {
    let (registry, test, digests) = three_images();
    let reference = registry.reference("a/1:v1");
    drop(test.store.find(&reference, &amd64()).unwrap());
    let images = test.store.list().unwrap();
    let image = images
        .iter()
        .find(|image| image.meta.manifest_digest == digests[0]);
    let age = image.unwrap().last_used.elapsed().unwrap();
    assert!(age < Duration::from_secs(3600), "{age:?}");
}

#[test]
fn a_reference_is_removed_before_its_image() {
    let (registry, test, digests) = three_images();
    let (layout, root) = image(vec![
        layer("base", b"base"),
        layer("own", &vec![1; 100_000]),
    ]);
    assert_eq!(root.digest, digests[0]);
    registry.add("a/1:v2", &layout, &root);
    let (first, second) = (registry.reference("a/1:v1"), registry.reference("a/1:v2"));
    pull(&test.store, &registry.client(), &second, PullPolicy::Always).unwrap();
    let removed = test.store.remove_reference(&first).unwrap();
    assert_eq!(removed, [Removed::Reference(first.to_string())]);
    assert!(test.store.find(&first, &amd64()).unwrap().is_none());
    assert!(test.store.find(&second, &amd64()).unwrap().is_some());
    let removed = test.store.remove_reference(&second).unwrap();
    assert_eq!(removed, [Removed::Image(digests[0].clone())]);
    let error = test.store.remove_reference(&second).unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)), "{error}");
}

#[track_caller]
fn check_damage(damage: impl FnOnce(&TestStore, &std::path::Path), expected: &[&str]) {
    let registry = TestRegistry::start();
    let test = TestStore::new();
    let (layout, root) = image(vec![layer("d/a", b"first"), layer("d/b", b"second")]);
    registry.add("a/b:v1", &layout, &root);
    let reference = registry.reference("a/b:v1");
    pull(
        &test.store,
        &registry.client(),
        &reference,
        PullPolicy::Always,
    )
    .unwrap();
    let report = test.store.verify().unwrap();
    assert_eq!(
        (report.images, report.blobs, report.damages.len()),
        (1, 4, 0)
    );
    damage(&test, &image_path(&test, &root.digest));
    let report = test.store.verify().unwrap();
    let problem = |damage: &Damage| match damage {
        Damage::Image { problem, .. } => problem.clone(),
        Damage::Blob { .. } => "blob".to_owned(),
    };
    let problems: Vec<String> = report.damages.iter().map(problem).collect();
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}");
    }
    test.store.remove_damaged(&report.damages).unwrap();
    pull(
        &test.store,
        &registry.client(),
        &reference,
        PullPolicy::IfNotPresent,
    )
    .unwrap();
    let report = test.store.verify().unwrap();
    assert_eq!((report.images, report.damages.len()), (1, 0));
}

#[test]
fn verify_finds_damage() {
    let change = |path: &std::path::Path| {
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, "FIRST").unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    };
    check_damage(
        |_, image| change(&image.join("root/d/a")),
        &["/d/a was changed"],
    );
    check_damage(
        |_, image| fs::remove_file(image.join("root/d/b")).unwrap(),
        &["/d/b is missing"],
    );
    check_damage(
        |_, image| fs::write(image.join("root/d/new"), "").unwrap(),
        &["/d/new does not belong to the image"],
    );
    check_damage(
        |_, image| {
            let mode = fs::Permissions::from_mode(0o644);
            fs::set_permissions(image.join("root/d/a"), mode).unwrap();
        },
        &["/d/a was changed"],
    );
    check_damage(
        |_, image| fs::write(image.join("files"), "").unwrap(),
        &["the record of its files is damaged"],
    );
    check_damage(
        |test, _| {
            let blobs = test.store.directory().join("blobs/sha256");
            let first = crate::images::entries(&blobs).remove(0);
            fs::write(blobs.join(first), "damaged").unwrap();
        },
        &["blob"],
    );
}

#[test]
fn a_damaged_image_is_pulled_again() {
    let (registry, test, digests) = three_images();
    let reference = registry.reference("a/1:v1");
    fs::write(image_path(&test, &digests[0]).join("meta.json"), "{}").unwrap();
    let error = test.store.find(&reference, &amd64()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    pull(
        &test.store,
        &registry.client(),
        &reference,
        PullPolicy::IfNotPresent,
    )
    .unwrap();
    assert!(test.store.verify().unwrap().damages.is_empty());
    assert_eq!(test.entries("tmp"), [""; 0]);
}

#[test]
fn an_archive_moves_an_image_to_another_store() {
    let (registry, test, digests) = three_images();
    let reference = registry.reference("a/2:v1");
    let mut archive = Vec::new();
    test.store
        .export(&reference, &amd64(), &mut archive)
        .unwrap();
    let mut again = Vec::new();
    test.store.export(&reference, &amd64(), &mut again).unwrap();
    assert!(archive == again, "the same image gives the same archive");
    // Other tools can read it.
    read_archive(&mut archive.as_slice(), &ArchiveLimits::default()).unwrap();

    let other = TestStore::new();
    let imported = other
        .store
        .import(&mut archive.as_slice(), &[amd64()], None)
        .unwrap();
    assert_eq!(imported.len(), 1);
    assert_eq!(imported[0].reference.as_ref(), Some(&reference));
    assert_eq!(imported[0].image.meta().manifest_digest, digests[1]);
    let found = other.store.find(&reference, &amd64()).unwrap().unwrap();
    let own = fs::read(found.root_path().join("own")).unwrap();
    assert!(own == vec![2; 100_000]);
    let mut exported = Vec::new();
    other
        .store
        .export(&reference, &amd64(), &mut exported)
        .unwrap();
    assert!(archive == exported);
    assert!(other.store.verify().unwrap().damages.is_empty());
    assert_eq!(other.entries("tmp"), [""; 0]);

    let name: ImageReference = "example.com/other:v1".parse().unwrap();
    let imported = other
        .store
        .import(&mut archive.as_slice(), &[amd64()], Some(&name));
    assert_eq!(imported.unwrap()[0].reference.as_ref(), Some(&name));
    assert!(other.store.find(&name, &amd64()).unwrap().is_some());
}

#[test]
fn damaged_archives_are_refused() {
    let (registry, test, _) = three_images();
    let reference = registry.reference("a/2:v1");
    let mut archive = Vec::new();
    test.store
        .export(&reference, &amd64(), &mut archive)
        .unwrap();
    let other = TestStore::new();
    let import = |archive: &[u8]| {
        other
            .store
            .import(&mut &*archive, &[amd64()], None)
            .unwrap_err()
    };
    assert!(matches!(import(b""), ArchiveError::MissingFile(_)));
    assert!(matches!(import(&archive[..3000]), ArchiveError::Read(_)));
    let mut changed = archive.clone();
    let at = archive
        .windows(13)
        .position(|bytes| bytes == b"schemaVersion");
    // In the manifest, which comes after the index.
    let rest = &archive[at.unwrap() + 1..];
    let second = rest.windows(13).position(|bytes| bytes == b"schemaVersion");
    changed[at.unwrap() + 1 + second.unwrap()] = b'S';
    assert!(matches!(import(&changed), ArchiveError::Digest(_)));
    let arm64 = kiln_oci::Platform::linux("arm64");
    let wrong = other.store.import(&mut archive.as_slice(), &[arm64], None);
    let expected = "the archive has no image for linux/arm64; it has linux/amd64";
    assert_eq!(wrong.unwrap_err().to_string(), expected);
    for name in ["roots", "refs", "tmp"] {
        assert_eq!(other.entries(name), [""; 0], "{name}");
    }
}

/// File systems give the inode of a removed file to the next new one, and the store adds files after the last layer.
#[test]
fn files_in_the_place_of_removed_ones_are_no_damage() {
    let registry = TestRegistry::start();
    let test = TestStore::new();
    let (mut files, mut whiteouts) = (LayerBuilder::default(), LayerBuilder::default());
    for number in 0..64 {
        let name = format!("file-{number}");
        files = files.file(&name, 0o644, b"removed").unwrap();
        let name = format!(".wh.file-{number}");
        whiteouts = whiteouts.file(&name, 0o644, b"").unwrap();
    }
    let layers = vec![files.finish().unwrap(), whiteouts.finish().unwrap()];
    let (layout, root) = image(layers);
    registry.add("a/removed:v1", &layout, &root);
    let reference = registry.reference("a/removed:v1");
    let policy = PullPolicy::Always;
    pull(&test.store, &registry.client(), &reference, policy).unwrap();
    let damages = test.store.verify().unwrap().damages;
    assert!(damages.is_empty(), "{damages:?}");
}

/// Removes what is damaged of the three images, of which the first is in use.
#[test]
fn damage_is_removed_although_one_image_is_in_use() {
    let (registry, test, digests) = three_images();
    let reference = registry.reference("a/1:v1");
    let used = test.store.find(&reference, &amd64()).unwrap();
    for digest in &digests {
        fs::write(image_path(&test, digest).join("root/own"), "changed").unwrap();
    }
    let damages = test.store.verify().unwrap().damages;
    assert_eq!(damages.len(), 3);
    let removed = test.store.remove_damaged(&damages).unwrap();
    let mut others = digests[1..].to_vec();
    others.sort();
    let mut images = removed.images;
    images.sort();
    assert_eq!(images, others);
    assert_eq!(removed.in_use.into_iter().collect::<Vec<_>>(), digests[..1]);
    assert_eq!(kept(&test), digests[..1]);
    drop(used);
}

/// Such images are never used, and their files would stay.
#[test]
fn incomplete_images_are_damage_and_are_collected() {
    let (registry, test, digests) = three_images();
    let break_images = || {
        fs::remove_file(image_path(&test, &digests[0]).join(".use")).unwrap();
        fs::write(image_path(&test, &digests[1]).join("meta.json"), "").unwrap();
        fs::remove_file(image_path(&test, &digests[2]).join("meta.json")).unwrap();
    };
    break_images();
    let damages = test.store.verify().unwrap().damages;
    assert_eq!(damages.len(), 3, "{damages:?}");
    let removed = test.store.remove_damaged(&damages).unwrap();
    assert_eq!(removed.images.len(), 3);
    for number in 1..=3 {
        let reference = registry.reference(&format!("a/{number}:v1"));
        let policy = PullPolicy::IfNotPresent;
        pull(&test.store, &registry.client(), &reference, policy).unwrap();
    }
    break_images();
    let everything = CollectLimits {
        size: u64::MAX,
        age: NO_AGE,
    };
    let collected = test.store.collect(&everything).unwrap();
    assert_eq!(collected.images.len(), 3, "{:?}", collected.images);
    assert_eq!(test.entries("roots").len(), 0);
    assert!(test.store.verify().unwrap().damages.is_empty());
}
