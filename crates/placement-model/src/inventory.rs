//! One inventory and the arithmetic of capacity. It is the only place that multiplies by the ratio.

/// What a provider has of one class. Integers are 0 to 2147483647, in the unit of the class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inventory {
    /// Everything.
    pub total: u64,
    /// What nobody may have.
    pub reserved: u64,
    /// The least that one consumer may have.
    pub min_unit: u64,
    /// The most that one consumer may have.
    pub max_unit: u64,
    /// What every amount is a multiple of.
    pub step_size: u64,
    /// By what the rest is multiplied.
    pub allocation_ratio: f64,
}

impl Inventory {
    /// The largest integer of the API.
    pub const LARGEST: u64 = 2_147_483_647;

    /// The most that can be in use, before it is cut to an integer.
    #[allow(clippy::cast_precision_loss, reason = "integers are below 2^31")]
    fn limit(&self) -> f64 {
        (self.total as f64 - self.reserved as f64) * self.allocation_ratio
    }

    /// What is reported: [`Self::limit`] without its fraction. Negative when more is reserved than there is.
    #[allow(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    pub fn capacity(&self) -> i64 {
        self.limit() as i64
    }

    /// Whether `amount` fits beside `used`; amounts that no integer holds never do.
    pub fn has_room(&self, used: u64, amount: u64) -> bool {
        #[allow(
            clippy::cast_precision_loss,
            reason = "used is a sum of amounts below 2^31; the reference compares floats"
        )]
        used.checked_add(amount).is_some_and(|sum| sum as f64 <= self.limit())
    }

    /// Whether one consumer may have this amount.
    pub fn allows(&self, amount: u64) -> bool {
        self.min_unit <= amount && amount <= self.max_unit && amount.is_multiple_of(self.step_size)
    }

    /// Whether `amount` may be had and fits: `fits` of document 51 section 2.
    pub fn fits(&self, used: u64, amount: u64) -> bool {
        self.allows(amount) && self.has_room(used, amount)
    }
}
