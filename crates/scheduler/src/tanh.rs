//! The hyperbolic tangent, the same to the last bit on every machine: a ranking must not depend on whose mathematics
//! library is linked. It has no branches, so that a whole column goes through the vector unit.

use std::f64::consts::LOG2_E;

/// Beyond this the result is 1 in double precision.
const LIMIT: f64 = 20.0;
/// Adding it rounds to an integer, which is then in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// The leading bits of ln 2, so that small multiples of it are exact, and the rest.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// tanh x = e / (e + 2) with e = exp(2x) - 1. With 2x = n ln 2 + r, the exponential of r is (a + b) / (a - b) up to the
/// last bit, so that e has the denominator a - b and one division is enough.
#[inline]
pub(crate) fn tanh(x: f64) -> f64 {
    let doubled = 2.0 * x.clamp(-LIMIT, LIMIT);
    let rounded = doubled * LOG2_E + ROUND;
    let times = rounded - ROUND;
    let rest = (doubled - times * LN_2_HIGH) - times * LN_2_LOW;
    let square = rest * rest;
    let a = ((square + 840.0) * square + 75_600.0) * square + 665_280.0;
    let b = ((42.0 * square + 10_080.0) * square + 332_640.0) * rest;
    let below = a - b;
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    let grown = power * (b + b) + (power - 1.0) * below;
    grown / (grown + (below + below))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_saturates_to_exactly_one() {
        for x in [19.1, 50.0, 55.0, 60.0, 99_000.0, f64::MAX, f64::INFINITY] {
            assert_eq!((tanh(x).to_bits(), tanh(-x).to_bits()), (1.0_f64.to_bits(), (-1.0_f64).to_bits()), "{x}");
        }
    }

    #[test]
    fn nothing_stays_nothing_and_no_number_stays_none() {
        assert_eq!((tanh(0.0).to_bits(), tanh(-0.0)), (0, 0.0));
        assert!(tanh(f64::NAN).is_nan());
        assert!((LN_2_HIGH + LN_2_LOW - std::f64::consts::LN_2).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn it_is_the_tangent_of_the_library(x in prop_oneof![-1.0_f64..1.0, -25.0_f64..25.0, -1e-6_f64..1e-6]) {
            let expected = x.tanh();
            prop_assert!((tanh(x) - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{x}: {} {expected}", tanh(x));
        }

        /// Each of the two may be off by four units in the last place.
        #[test]
        fn more_is_never_less_but_for_the_last_bits(x in -20.0_f64..20.0, more in 1e-12_f64..1.0) {
            prop_assert!(tanh(x) <= tanh(x + more) + 4.0 * f64::EPSILON);
        }
    }
}
