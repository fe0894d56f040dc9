//! An answer about candidates in pages, each made when it is taken, so that a slow reader holds the numbers of
//! providers and one page.

use std::sync::Arc;

use super::{Answer, NoCandidates};
use crate::Model;
use crate::question::{CandidatesQuestion, GenerationOptions};

/// Bytes of a page, unless set otherwise; the last request or tree in it may exceed them.
const PIECE: usize = 48 * 1024;
/// The usual maximum size of a request or a tree.
const EXCESS: usize = 2048;

/// So many combinations are searched within a few milliseconds.
const FEW_COMBINATIONS: usize = 10_000;
const FEW_PROVIDERS: usize = 100_000;

/// The body of an answer, piece by piece.
#[derive(Debug)]
pub struct Pages {
    model: Arc<Model>,
    answer: Answer,
    piece: usize,
}

impl Pages {
    pub fn new(
        model: Arc<Model>,
        question: &CandidatesQuestion,
        options: &GenerationOptions,
    ) -> Result<Self, NoCandidates> {
        let answer = model.candidates(question, options)?.answer();
        Ok(Self { model, answer, piece: PIECE })
    }

    /// The same if it is found at once, without many combinations; `None` if the search would take so long that it
    /// delays other requests.
    pub fn at_once(
        model: &Arc<Model>,
        question: &CandidatesQuestion,
        options: &GenerationOptions,
    ) -> Result<Option<Self>, NoCandidates> {
        if model.len() > FEW_PROVIDERS {
            return Ok(None);
        }
        let few = GenerationOptions { most_combinations: options.most_combinations.min(FEW_COMBINATIONS), ..*options };
        let found = match model.candidates(question, &few) {
            Err(NoCandidates::TooComplex) => return Ok(None),
            found => found?,
        };
        let answer = (!found.is_exhausted()).then(|| found.answer());
        Ok(answer.map(|answer| Self { model: model.clone(), answer, piece: PIECE }))
    }

    /// The same in pieces of so many bytes, at least one.
    #[must_use]
    pub fn in_pieces_of(self, bytes: usize) -> Self {
        Self { piece: bytes.max(1), ..self }
    }

    pub fn is_whole(&self) -> bool {
        self.answer.is_whole()
    }

    /// About how much memory it takes, in bytes; the model is not counted.
    pub fn weight(&self) -> usize {
        self.answer.weight() + self.piece
    }
}

impl Iterator for Pages {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_whole() {
            return None;
        }
        let mut piece = Vec::with_capacity(self.piece + EXCESS);
        self.answer.write(&self.model, &mut piece, self.piece);
        Some(piece)
    }
}
