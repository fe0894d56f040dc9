//! The scores that a weigher gives hosts, and how they are added to the weights: multiplier times tanh.

use crate::tanh::tanh;

/// The effect of a weigher in one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scores {
    /// 0 for every host.
    NoEffect,
    /// This activation for each host, in the order of the feasible hosts.
    Each(Vec<f64>),
    /// One activation for a few hosts and another one for all others.
    Few {
        /// The places of the few, each once.
        places: Vec<usize>,
        here: f64,
        elsewhere: f64,
        /// The few come before all others, whatever they weigh.
        first: bool,
    },
}

impl Scores {
    /// A weigher with a score that is not a number has failed.
    pub(crate) fn are_numbers(&self) -> bool {
        match self {
            Self::NoEffect => true,
            Self::Each(activations) => !activations.iter().any(|activation| activation.is_nan()),
            Self::Few { here, elsewhere, .. } => !here.is_nan() && !elsewhere.is_nan(),
        }
    }

    /// One activation for each of so many hosts.
    pub(crate) fn activations(&self, hosts: usize) -> Vec<f64> {
        match self {
            Self::NoEffect => vec![0.0; hosts],
            Self::Each(activations) => activations.clone(),
            Self::Few { places, here, elsewhere, .. } => {
                let mut activations = vec![*elsewhere; hosts];
                for place in places {
                    activations[*place] = *here;
                }
                activations
            }
        }
    }

    pub(crate) fn add_to(&self, weights: &mut [f64], multiplier: f64) {
        match self {
            Self::NoEffect => {}
            Self::Each(activations) => {
                for (weight, activation) in weights.iter_mut().zip(activations) {
                    *weight += multiplier * tanh(*activation);
                }
            }
            Self::Few { places, here, elsewhere, .. } => {
                let (here, elsewhere) = (multiplier * tanh(*here), multiplier * tanh(*elsewhere));
                let few: Vec<f64> = places.iter().map(|place| weights[*place] + here).collect();
                for weight in &mut *weights {
                    *weight += elsewhere;
                }
                for (place, weight) in places.iter().zip(few) {
                    weights[*place] = weight;
                }
            }
        }
    }
}
