//! The terminal: views are drawn on it, keys are read from it.

use std::fs::{File, OpenOptions};
use std::io;
use std::sync::Once;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::view::{Key, View};

/// The controlling terminal, as a screen until this is dropped.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<File>>,
    tty: File,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// The terminal is missing, or cannot be set up.
    pub fn open() -> io::Result<Screen> {
        let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let watched = tty.try_clone()?;
        enable_raw_mode()?;
        restore_on_panic();
        let opened = execute!(tty, EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(tty)));
        if opened.is_err() {
            restore();
        }
        Ok(Screen {
            terminal: opened?,
            tty: watched,
        })
    }

    /// Takes over the terminal again, after this process was stopped and a shell has used the terminal.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn retake(&mut self) -> io::Result<()> {
        // What is raw by crossterm's books would be left as the shell has made it.
        disable_raw_mode()?;
        enable_raw_mode()?;
        execute!(self.terminal.backend_mut(), EnterAlternateScreen)?;
        self.terminal.clear()
    }

    /// Draws a view, in the size that the terminal has now.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, view: &mut View) -> io::Result<()> {
        self.terminal.draw(|frame| {
            let area = frame.area();
            view.draw(area, frame.buffer_mut());
        })?;
        Ok(())
    }

    /// The keys that were pressed since, and whether the size has changed.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn keys(&mut self) -> io::Result<(Vec<Key>, bool)> {
        let (mut keys, mut resized) = (Vec::new(), false);
        // Of a terminal that has hung up crossterm reads nothing, for ever.
        while self.is_there()? && event::poll(Duration::ZERO)? && self.is_there()? {
            match event::read()? {
                Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                    keys.extend(key(pressed));
                }
                Event::Resize(..) => resized = true,
                _ => {}
            }
        }
        Ok((keys, resized))
    }

    /// True, or an error if the terminal is gone.
    fn is_there(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.tty, PollFlags::IN)];
        poll(&mut watched, Some(&Timespec::default()))?;
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if watched[0].revents().intersects(gone) {
            return Err(io::Error::other("the terminal has hung up"));
        }
        Ok(true)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back.
fn restore() {
    let _ = disable_raw_mode();
    if let Ok(mut tty) = OpenOptions::new().write(true).open("/dev/tty") {
        let _ = execute!(tty, LeaveAlternateScreen, Show);
    }
}

/// Restores the terminal on a panic, so that its message can be read.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

fn key(pressed: KeyEvent) -> Option<Key> {
    Some(match pressed.code {
        KeyCode::Char('c') if pressed.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(character) => Key::Character(character),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Tab => Key::Tab,
        KeyCode::Enter => Key::Enter,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    })
}
