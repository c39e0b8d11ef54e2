//! Properties of the engine on random inputs.

mod against_model;
mod model;
mod starvation;
mod steps;
