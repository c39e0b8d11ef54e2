//! The inputs of transactions.

/// The input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reads a subscriber.
    GetSubscriberData {
        /// The subscriber.
        s_id: i64,
    },
    /// Reads the number calls are forwarded to.
    GetNewDestination {
        /// The subscriber.
        s_id: i64,
        /// The facility.
        sf_type: i64,
        /// The forwarding begins no later than this hour.
        start_time: i64,
        /// The forwarding ends after this hour.
        end_time: i64,
    },
    /// Reads access data.
    GetAccessData {
        /// The subscriber.
        s_id: i64,
        /// The type of access.
        ai_type: i64,
    },
    /// Changes a subscriber's first bit and a facility's data.
    UpdateSubscriberData {
        /// The subscriber.
        s_id: i64,
        /// The facility.
        sf_type: i64,
        /// The new bit.
        bit: i64,
        /// The new data.
        data: i64,
    },
    /// Changes a subscriber's location.
    UpdateLocation {
        /// The subscriber, who is named by number.
        s_id: i64,
        /// The new location.
        location: i64,
    },
    /// Adds a call forwarding.
    InsertCallForwarding {
        /// The subscriber, who is named by number.
        s_id: i64,
        /// The facility.
        sf_type: i64,
        /// When it begins.
        start_time: i64,
        /// When it ends.
        end_time: i64,
        /// Where to.
        numberx: String,
    },
    /// Removes a call forwarding.
    DeleteCallForwarding {
        /// The subscriber, who is named by number.
        s_id: i64,
        /// The facility.
        sf_type: i64,
        /// When it begins.
        start_time: i64,
    },
}
