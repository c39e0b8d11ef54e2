//! Programs that run in a Java virtual machine: their intervals are methods, written as a user writes them.
//!
//! A request that waits in a queue of the program begins where it is put there. Its object is the key of its interval.

use evenkeel_wire::Role;

use crate::error::Error;
use crate::spec::{IntervalSpec, NamedCall};

/// A Java program whose intervals are known.
#[derive(Clone, Copy, Debug)]
pub struct JavaPreset {
    /// As typed.
    pub name: &'static str,
    /// Its intervals, the default first.
    pub intervals: &'static [JavaInterval],
}

/// An interval of a Java program.
#[derive(Clone, Copy, Debug)]
pub struct JavaInterval {
    /// As typed.
    pub name: &'static str,
    /// A description.
    pub help: &'static str,
    /// The interval, as a user would write it.
    pub spec: &'static str,
    /// The method from whose call on a thread works on the interval. The method at its end needs none.
    pub work: Option<&'static str>,
}

/// All of them.
pub const JAVA_PRESETS: &[JavaPreset] =
    &[EXECUTOR, H2, CASSANDRA, KAFKA, ZOOKEEPER, TOMCAT, VOLTDB];

/// Any `ThreadPoolExecutor`, with its queue. Its worker threads run `runWorker` as long as they live, which calls `beforeExecute`, the
/// task, and `afterExecute` in turn. What `submit` is given is wrapped and passed to `execute`.
const EXECUTOR: JavaPreset = JavaPreset {
    name: "executor",
    intervals: &[JavaInterval {
        name: "task",
        help: "a task of a ThreadPoolExecutor, from execute or submit to its end, with the time in the queue",
        spec: "java.util.concurrent.ThreadPoolExecutor.execute..java.util.concurrent.ThreadPoolExecutor.afterExecute|java.util.concurrent.ThreadPoolExecutor.reject,key=0,within=java.util.concurrent.ThreadPoolExecutor.runWorker",
        work: Some("java.util.concurrent.ThreadPoolExecutor.beforeExecute,key=1"),
    }],
};

/// `TcpServerThread.process` has the wait for the next command in it, and these two have not.
const H2: JavaPreset = JavaPreset {
    name: "h2",
    intervals: &[JavaInterval {
        name: "command",
        help: "the execution of a statement",
        spec: "org.h2.command.Command.executeQuery|org.h2.command.Command.executeUpdate",
        work: None,
    }],
};

const CASSANDRA: JavaPreset = JavaPreset {
    name: "cassandra",
    intervals: &[
        JavaInterval {
            name: "request",
            help: "a client's request, with its time in the queue of the stage",
            spec: "org.apache.cassandra.transport.Dispatcher.dispatch..org.apache.cassandra.transport.Dispatcher.processRequest,key=1",
            work: None,
        },
        JavaInterval {
            name: "processing",
            help: "a client's request, from the moment a thread takes it up",
            spec: "org.apache.cassandra.transport.Dispatcher.processRequest",
            work: None,
        },
    ],
};

/// The answer to a request that waits for other brokers is sent later, by another thread: that time is in none of them. Requests of a
/// controller, which may be in the same process, have their own end.
const KAFKA: JavaPreset = JavaPreset {
    name: "kafka",
    intervals: &[
        JavaInterval {
            name: "request",
            help: "a request, from the network thread's queue to the end of its handling",
            spec: "kafka.network.RequestChannel.sendRequest..kafka.server.KafkaApis.handle|kafka.server.ControllerApis.handle,key=0",
            work: None,
        },
        JavaInterval {
            name: "handling",
            help: "a request, from the moment a thread takes it up",
            spec: "kafka.server.KafkaApis.handle",
            work: None,
        },
    ],
};

/// One thread writes requests to the log, several at once: `flush` is for all of them.
const ZOOKEEPER: JavaPreset = JavaPreset {
    name: "zookeeper",
    intervals: &[JavaInterval {
        name: "request",
        help: "a request, from its arrival through all processors of a single server",
        spec: "org.apache.zookeeper.server.ZooKeeperServer.enqueueRequest..org.apache.zookeeper.server.FinalRequestProcessor.processRequest,key=0,within=org.apache.zookeeper.server.SyncRequestProcessor.flush",
        work: None,
    }],
};

/// The pool of threads executes an object for each connection that has something to read.
const TOMCAT: JavaPreset = JavaPreset {
    name: "tomcat",
    intervals: &[
        JavaInterval {
            name: "request",
            help: "an HTTP request, with the time until the pool has a thread for its connection",
            spec: "org.apache.tomcat.util.threads.ThreadPoolExecutor.execute..org.apache.tomcat.util.net.SocketProcessorBase.run,key=0:this",
            work: None,
        },
        JavaInterval {
            name: "handling",
            help: "an HTTP request, from the moment a thread takes it up",
            spec: "org.apache.catalina.connector.CoyoteAdapter.service",
            work: None,
        },
    ],
};

/// A site is a thread with a queue, and executes the procedures of a part of the data.
const VOLTDB: JavaPreset = JavaPreset {
    name: "voltdb",
    intervals: &[JavaInterval {
        name: "procedure",
        help: "a procedure of a single partition, with its time in the queue of the site",
        spec: "org.voltdb.iv2.SiteTaskerQueue.offer..org.voltdb.iv2.SpProcedureTask.run,key=0:this",
        work: None,
    }],
};

impl JavaPreset {
    /// The preset of this name.
    pub fn named(name: &str) -> Option<&'static JavaPreset> {
        JAVA_PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The interval of this name, the default one for `None`.
    pub fn interval(&self, name: Option<&str>) -> Option<&'static JavaInterval> {
        match name {
            None => self.intervals.first(),
            Some(name) => self.intervals.iter().find(|interval| interval.name == name),
        }
    }
}

impl JavaInterval {
    /// As if the user had typed it.
    ///
    /// # Errors
    /// None, as a test shows.
    pub fn typed(&self) -> Result<(IntervalSpec, Vec<NamedCall>), Error> {
        let mut spec: IntervalSpec = self.spec.parse()?;
        spec.name = Some(self.name.to_owned());
        let works = self.work.iter();
        let works = works.map(|work| NamedCall::parse(Role::Work, work));
        Ok((spec, works.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Preset;

    #[test]
    fn intervals_of_java_programs_can_be_typed() {
        for preset in JAVA_PRESETS {
            assert!(Preset::named(preset.name).is_err(), "{}", preset.name);
            assert!(preset.interval(None).is_some(), "{}", preset.name);
            for interval in preset.intervals {
                let (spec, works) = interval.typed().expect(interval.spec);
                assert_eq!(spec.is_keyed(), interval.spec.contains(".."));
                assert_eq!(works.len(), usize::from(interval.work.is_some()));
            }
        }
    }
}
