//! Properties of the contention core on random inputs.

mod against_model;
mod model;
mod starvation;
mod steps;
