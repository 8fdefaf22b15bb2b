//! The program, as others run it.

mod program;
mod reload;
mod serving;
mod signals;
mod startup;
