//! Packages on disk: walk, ignore rules, parallel read, atomic write, prune, path safety.
