//! The statements.

use super::schema;
use super::schema::number;
use crate::interface::Compare::{Equal, Greater};
use crate::interface::declare::{
    Statements, constant, count, from, insert, max, min, outer, p, set,
};
use crate::interface::{Error, StatementId, Transaction};

/// The statements.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) subscriber: StatementId,
    pub(super) access: StatementId,
    pub(super) destination: StatementId,
    pub(super) set_location: StatementId,
    pub(super) set_bit: StatementId,
    pub(super) set_data: StatementId,
    pub(super) by_number: StatementId,
    pub(super) facilities: StatementId,
    pub(super) insert_forwarding: StatementId,
    pub(super) delete_forwarding: StatementId,
    pub(super) count_subscribers: StatementId,
    pub(super) count_forwardings: StatementId,
    pub(super) facility_of_forwarding: StatementId,
    pub(super) access_types: StatementId,
    pub(super) facility_types: StatementId,
}

impl Ids {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let mut add = |name, declaration| statements.add(name, declaration);
        let destination = from("special_facility")
            .key([p(0), p(1)])
            .filter("is_active", Equal, constant(1))
            .join("call_forwarding")
            .key([outer("s_id"), outer("sf_type")])
            .at_most(p(2))
            .filter("end_time", Greater, p(3));
        let facility_of_forwarding = from("call_forwarding")
            .join("special_facility")
            .key([outer("s_id"), outer("sf_type")]);
        let subscriber = || from("subscriber").key([p(0)]);
        let numbered = || from("subscriber").index("subscriber_number", [p(0)]);
        let forwarding = from("call_forwarding").key([p(0), p(1), p(2)]);
        let access = from("access_info")
            .key([p(0), p(1)])
            .columns(["data1", "data2", "data3", "data4"]);
        let set_data = from("special_facility")
            .key([p(0), p(1)])
            .update([set("data_a", p(2))]);
        let hours = [count(), min("start_time"), max("end_time")];
        Ids {
            subscriber: add(
                "tatp_subscriber",
                subscriber().columns(schema::subscriber()),
            ),
            access: add("tatp_access", access),
            destination: add("tatp_destination", destination.columns(["numberx"])),
            set_location: add(
                "tatp_set_location",
                numbered().update([set("vlr_location", p(1))]),
            ),
            set_bit: add("tatp_set_bit", subscriber().update([set("bit_1", p(1))])),
            set_data: add("tatp_set_data", set_data),
            by_number: add("tatp_by_number", numbered().columns(["s_id"])),
            facilities: add(
                "tatp_facilities",
                from("special_facility").key([p(0)]).columns(["sf_type"]),
            ),
            insert_forwarding: add("tatp_insert_forwarding", insert("call_forwarding")),
            delete_forwarding: add("tatp_delete_forwarding", forwarding.delete()),
            count_subscribers: add(
                "tatp_count_subscribers",
                from("subscriber").aggregates([count()]),
            ),
            count_forwardings: add(
                "tatp_count_forwardings",
                from("call_forwarding").aggregates(hours),
            ),
            facility_of_forwarding: add(
                "tatp_facility_of_forwarding",
                facility_of_forwarding.aggregates([count()]),
            ),
            access_types: add(
                "tatp_access_types",
                from("access_info").grouped(["s_id"], [count()]),
            ),
            facility_types: add(
                "tatp_facility_types",
                from("special_facility").grouped(["s_id"], [count()]),
            ),
        }
    }

    /// A subscriber by number.
    pub(super) async fn find<T: Transaction>(
        &self,
        s_id: i64,
        transaction: &mut T,
    ) -> Result<i64, Error> {
        transaction
            .query_one(self.by_number, &[number(s_id).into()])
            .await?
            .int(0)
    }
}
