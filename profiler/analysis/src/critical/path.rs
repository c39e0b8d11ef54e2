//! A critical path while it is walked: its pieces, and the waits on it.

use super::blocking::WaitSeen;

/// Pieces kept of one path, at most, the latest in time. The vector is complete in any case.
pub const PIECES_MAX: usize = 1 << 12;
/// Waits kept of one path, at most.
const WAITS_MAX: usize = 1 << 12;

/// A stretch of the path on one thread, at one node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The thread's key.
    pub thread: u64,
    /// From, ticks.
    pub from: u64,
    /// To, ticks.
    pub to: u64,
    /// The node.
    pub node: u32,
}

/// A thread that serves intervals was waited for while it waited for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientWait {
    /// The thread's key.
    pub thread: u64,
    /// When it began to wait for its client, ticks.
    pub since: u64,
    /// When its client went on, ticks.
    pub until: u64,
    /// The class of the interval that it served last, if that is known.
    pub last: Option<u16>,
}

/// One interval's path.
#[derive(Debug, Default)]
pub struct Path {
    /// From the end to the beginning, without gaps.
    pub pieces: Vec<Piece>,
    /// Pieces beyond [`PIECES_MAX`] were left out.
    pub is_cut: bool,
    /// Waits of other threads for their clients.
    pub client_waits: Vec<ClientWait>,
    keeps_pieces: bool,
    waits: Vec<WaitSeen>,
}

impl Path {
    /// Begins the next path; its pieces are kept only if they are wanted.
    pub fn begin(&mut self, keeps_pieces: bool) {
        self.keeps_pieces = keeps_pieces;
        self.pieces.clear();
        self.client_waits.clear();
        self.waits.clear();
        self.is_cut = false;
    }

    /// Whether pieces are wanted.
    pub fn keeps_pieces(&self) -> bool {
        self.keeps_pieces
    }

    /// Adds a piece, which precedes the last one in time.
    #[inline]
    pub fn piece(&mut self, piece: Piece) {
        if self.keeps_pieces {
            self.add(piece);
        }
    }

    fn add(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut()
            && (last.thread, last.node, last.from) == (piece.thread, piece.node, piece.to)
        {
            last.from = piece.from;
        } else if self.pieces.len() < PIECES_MAX {
            self.pieces.push(piece);
        } else {
            self.is_cut = true;
        }
    }

    /// Adds another thread's wait for its client.
    pub fn client_wait(&mut self, wait: ClientWait) {
        if self.keeps_pieces && self.client_waits.len() < WAITS_MAX {
            self.client_waits.push(wait);
        }
    }

    /// Adds a wait.
    pub fn wait(&mut self, wait: WaitSeen) {
        if self.waits.len() < WAITS_MAX {
            self.waits.push(wait);
        }
    }

    /// Waits of the interval's own threads.
    pub fn waits(&self) -> &[WaitSeen] {
        &self.waits
    }
}
