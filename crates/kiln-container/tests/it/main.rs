//! Images, run by a docker of our own making.
