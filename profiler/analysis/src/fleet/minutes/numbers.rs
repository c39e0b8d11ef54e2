//! Integers of any size as bytes: zigzag, then seven bits a byte, the lowest first.

/// Writes numbers.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The written bytes.
    pub bytes: Vec<u8>,
}

impl Numbers {
    /// Writes a number.
    pub fn put(&mut self, number: impl Into<i128>) {
        let number: i128 = number.into();
        let mut rest = ((number << 1) ^ (number >> 127)) as u128;
        loop {
            let low = (rest & 0x7f) as u8;
            rest >>= 7;
            if rest == 0 {
                return self.bytes.push(low);
            }
            self.bytes.push(low | 0x80);
        }
    }

    /// Writes a length or an index.
    pub fn size(&mut self, size: usize) {
        self.put(size as i128);
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        self.size(text.len());
        self.bytes.extend(text.as_bytes());
    }

    /// Writes those of a row's items that are something, with their places.
    pub fn sparse<T>(
        &mut self,
        row: &[T],
        is_something: impl Fn(&T) -> bool,
        put: impl Fn(&mut Numbers, &T),
    ) {
        let present = || {
            row.iter()
                .enumerate()
                .filter(|(_, item)| is_something(item))
        };
        self.size(row.len());
        self.size(present().count());
        let mut before = 0;
        for (at, item) in present() {
            self.size(at - before);
            before = at;
            put(self, item);
        }
    }
}

/// Reads numbers; nothing where the bytes are no such numbers.
#[derive(Debug)]
pub struct Reading<'a> {
    /// The unread rest.
    pub rest: &'a [u8],
}

impl Reading<'_> {
    /// Reads a number.
    pub fn take<T: TryFrom<i128>>(&mut self) -> Option<T> {
        let mut number: u128 = 0;
        for shift in (0..128).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let signed = (number >> 1) as i128 ^ -((number & 1) as i128);
                return T::try_from(signed).ok();
            }
        }
        None
    }

    /// Reads a length of at most `most`.
    pub fn size(&mut self, most: usize) -> Option<usize> {
        self.take().filter(|&size| size <= most)
    }

    /// Reads a text of at most `most` bytes.
    pub fn text(&mut self, most: usize) -> Option<String> {
        let length = self.size(most.min(self.rest.len()))?;
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// Reads what [`Numbers::sparse`] wrote, at most `most` items.
    pub fn sparse<T: Clone + Default>(
        &mut self,
        most: usize,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut row = vec![T::default(); self.size(most)?];
        let mut at = 0;
        for _ in 0..self.size(row.len())? {
            at += self.size(row.len())?;
            *row.get_mut(at)? = item(self)?;
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let all = [0, 1, -1, 63, 64, -12345, i128::MAX, i128::MIN, 1 << 100];
        let mut numbers = Numbers::default();
        all.iter().for_each(|&number| numbers.put(number));
        numbers.text("ü");
        numbers.sparse(&[0u64, 7, 0, 9, 0], |&n| n != 0, |out, &n| out.put(n));
        let mut reading = Reading {
            rest: &numbers.bytes,
        };
        for number in all {
            assert_eq!(reading.take(), Some(number));
        }
        assert_eq!(reading.text(9).as_deref(), Some("ü"));
        let row = reading.sparse(5, |reading| reading.take::<u64>());
        assert_eq!(row, Some(vec![0, 7, 0, 9, 0]));
        assert!(reading.rest.is_empty());
        assert_eq!(reading.take::<i128>(), None);
        reading.rest = &[0xff; 40];
        assert_eq!(reading.take::<i128>(), None);
    }
}
