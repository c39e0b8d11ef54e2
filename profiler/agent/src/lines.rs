//! Reading a file of the kernel's line by line, without memory of the target's.

use evenkeel_patch::kernel;

/// The lines of a file, up to a length; what is longer is cut.
pub struct Lines {
    file: i32,
    buffer: [u8; 1024],
    /// Bytes in the buffer, and of these, those already given out.
    filled: usize,
    given: usize,
}

impl Lines {
    /// From its present position on.
    pub fn new(file: i32) -> Lines {
        Lines {
            file,
            buffer: [0; 1024],
            filled: 0,
            given: 0,
        }
    }

    /// The next one, without its end.
    pub fn next(&mut self) -> Option<&[u8]> {
        loop {
            let rest = &self.buffer[self.given..self.filled];
            if let Some(len) = rest.iter().position(|&byte| byte == b'\n') {
                let start = self.given;
                self.given += len + 1;
                return Some(&self.buffer[start..start + len]);
            }
            self.buffer.copy_within(self.given..self.filled, 0);
            self.filled -= self.given;
            self.given = 0;
            if self.filled == self.buffer.len() {
                self.filled = 512; // the end of so long a line is lost
            }
            let read = kernel::read(self.file, &mut self.buffer[self.filled..]);
            if read == 0 {
                return None;
            }
            self.filled += read;
        }
    }
}
