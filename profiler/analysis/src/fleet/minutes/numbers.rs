//! Integers of any size as bytes: zigzag, then seven bits a byte, the lowest first.
//!
//! Writing and reading go over the same values in the same order, so a structure is described once.

/// Bytes that are written, or read. Reading gives nothing where the bytes are no such numbers.
#[derive(Debug)]
pub enum Numbers<'a> {
    /// The written bytes.
    Writing(Vec<u8>),
    /// The unread rest.
    Reading(&'a [u8]),
}

impl Numbers<'_> {
    /// A number.
    pub fn number<T: Copy + Into<i128> + TryFrom<i128>>(&mut self, number: &mut T) -> Option<()> {
        match self {
            Numbers::Writing(bytes) => put(bytes, (*number).into()),
            Numbers::Reading(rest) => *number = T::try_from(take(rest)?).ok()?,
        }
        Some(())
    }

    /// A length or an index, of at most `most`.
    pub fn size(&mut self, size: &mut usize, most: usize) -> Option<()> {
        let mut number = *size as u64;
        self.number(&mut number)?;
        *size = usize::try_from(number).ok().filter(|&size| size <= most)?;
        Some(())
    }

    /// A text of at most `most` bytes.
    pub fn text(&mut self, text: &mut String, most: usize) -> Option<()> {
        let mut length = text.len();
        let bound = most.max(length);
        self.size(&mut length, bound)?;
        match self {
            Numbers::Writing(bytes) => bytes.extend(text.as_bytes()),
            Numbers::Reading(rest) => {
                let (found, after) = rest.split_at_checked(length)?;
                *text = String::from_utf8(found.to_vec()).ok()?;
                *rest = after;
            }
        }
        Some(())
    }

    /// At most `most` items.
    pub fn list<T: Default>(
        &mut self,
        list: &mut Vec<T>,
        most: usize,
        item: impl Fn(&mut Self, &mut T) -> Option<()>,
    ) -> Option<()> {
        let mut count = list.len();
        self.size(&mut count, most)?;
        for at in 0..count {
            // One at a time: the count may be damaged.
            if at == list.len() {
                list.push(T::default());
            }
            item(self, &mut list[at])?;
        }
        Some(())
    }

    /// Those of at most `most` items that are something, with their places.
    pub fn sparse<T: Clone + Default>(
        &mut self,
        row: &mut Vec<T>,
        most: usize,
        is_something: impl Fn(&T) -> bool,
        item: impl Fn(&mut Self, &mut T) -> Option<()>,
    ) -> Option<()> {
        let mut length = row.len();
        self.size(&mut length, most)?;
        row.resize(length, T::default());
        let present = row
            .iter()
            .enumerate()
            .filter(|(_, item)| is_something(item));
        let mut places: Vec<usize> = present.map(|(at, _)| at).collect();
        let mut count = places.len();
        self.size(&mut count, length)?;
        places.resize(count, 0);
        let mut before = 0;
        for place in places {
            let mut step = place.saturating_sub(before);
            self.size(&mut step, length)?;
            before += step;
            item(self, row.get_mut(before)?)?;
        }
        Some(())
    }
}

fn put(bytes: &mut Vec<u8>, number: i128) {
    let mut rest = ((number << 1) ^ (number >> 127)) as u128;
    loop {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn take(from: &mut &[u8]) -> Option<i128> {
    let mut number: u128 = 0;
    for shift in (0..128).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((number >> 1) as i128 ^ -((number & 1) as i128));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(numbers: &mut Numbers<'_>, all: &mut [i128], text: &mut String, row: &mut Vec<u64>) {
        let all = all.iter_mut().try_for_each(|number| numbers.number(number));
        let rest = all.and_then(|()| {
            numbers.text(text, 9)?;
            numbers.sparse(row, 5, |&n| n != 0, Numbers::number)
        });
        rest.expect("they fit");
    }

    #[test]
    fn numbers_come_back() {
        let all = [0, 1, -1, 63, 64, -12345, i128::MAX, i128::MIN, 1 << 100];
        let mut numbers = Numbers::Writing(Vec::new());
        let row = vec![0, 7, 0, 9, 0];
        some(
            &mut numbers,
            &mut all.clone(),
            &mut "ü".to_owned(),
            &mut row.clone(),
        );
        let Numbers::Writing(bytes) = numbers else {
            unreachable!("it stays writing")
        };
        let mut reading = Numbers::Reading(&bytes);
        let mut found = ([2; 9], String::new(), Vec::new());
        some(&mut reading, &mut found.0, &mut found.1, &mut found.2);
        assert_eq!(found, (all, "ü".to_owned(), row));
        assert!(matches!(reading, Numbers::Reading([])));
        assert_eq!(reading.number(&mut 0i128), None);
        reading = Numbers::Reading(&[0xff; 40]);
        assert_eq!(reading.number(&mut 0i128), None);
    }
}
