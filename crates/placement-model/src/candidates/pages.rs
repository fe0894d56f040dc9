//! An answer about candidates in pieces, each made when somebody takes it: however long an answer is, and however slowly it is
//! read, it occupies the numbers of its providers and one piece.

use std::sync::Arc;

use super::{Answer, NoCandidates};
use crate::Model;
use crate::question::{CandidatesQuestion, GenerationOptions};

/// Bytes of a piece, unless somebody says otherwise; the last request or tree in it may exceed them.
const PIECE: usize = 48 * 1024;
/// What a request or a tree usually takes at most.
const EXCESS: usize = 2048;

/// What is searched through within a few milliseconds.
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
    /// Searches; nothing is written yet.
    pub fn new(
        model: Arc<Model>,
        question: &CandidatesQuestion,
        options: &GenerationOptions,
    ) -> Result<Self, NoCandidates> {
        let answer = model.candidates(question, options)?.answer();
        Ok(Self { model, answer, piece: PIECE })
    }

    /// The same if it is found at once, without many combinations; `None`: it has to be searched for longer, which should keep
    /// nobody else from being answered.
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

    /// Whether there are no more pieces.
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
