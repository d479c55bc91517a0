// The arrays that this room keeps while it sweeps, and their sizes. All of them are made anew by the first round of
// sweeps after a linear solve, so that the solvers of engine/reference have the same bytes.
//
// Swept rows are limits, efforts, contacts and moments. Arrays of [nrow] are indexed by a row's number among all rows,
// others by its number among the swept ones.
#pragma once

#include "engine/contact_solver/parameters.hpp"
#include "engine/tree/tree_scratch.hpp"

namespace axion::solver {

// Rows that sweeps pass over when all contacts are there; and how many of them fit in the Delassus matrix.
template <typename Real>
AXION_HD inline int most_swept_rows(const model::ModelView<Real>& m) {
  return m.limit_count + m.effort_count + 3 * m.block_capacity();
}
template <typename Real>
AXION_HD inline int delassus_rows(const model::ModelView<Real>& m) {
  if (m.inverse_blocks == 0) return 0;
  const int rows = (most_swept_rows(m) + SweepSizes::kDelassusPadding - 1) / SweepSizes::kDelassusPadding *
                   SweepSizes::kDelassusPadding;
  const int most = m.moment_capacity > 0 ? SweepSizes::kMaxMomentRows : SweepSizes::kMaxDelassusRows;
  return rows < most ? rows : most;
}

// Groups of contacts that sweeps of free bodies take at once (coloured_contacts.hpp): of all contacts and of a quarter
// of them, and those that colours leave unfilled. Not in models with torsional or rolling friction.
template <typename Real>
AXION_HD inline int contact_groups(const model::ModelView<Real>& m) {
  if (m.joint_count + m.closing_count != 0 || m.inverse_blocks == 0 || m.moment_capacity > 0) return 0;
  const int contacts = m.contact_capacity,
            most = contacts < SweepSizes::kMaxColours ? contacts : SweepSizes::kMaxColours;
  return 5 * contacts / (4 * SweepSizes::kGroupContacts) + most;
}

using model::kBodies, model::kBlocks, model::kRows, model::Heat, model::Length;

inline constexpr Length kSweptRows{[](const auto& m) { return most_swept_rows(m); }};
inline constexpr Length kSweptUnits{[](const auto& m) { return most_swept_rows(m) - 2 * m.block_capacity(); }};
inline constexpr Length kDelassusRows{[](const auto& m) { return delassus_rows(m); }};
inline constexpr Length kDelassusNumbers{
    [](const auto& m) { return delassus_rows(m) > 0 ? std::size_t(delassus_rows(m)) * delassus_rows(m) + 1 : 0; }};
inline constexpr Length kDelassusMatrices{[](const auto& m) { return delassus_rows(m) > 0 ? 1 : 0; }};
inline constexpr Length kDelassusUnits{
    [](const auto& m) { return delassus_rows(m) > 0 ? most_swept_rows(m) - 2 * m.block_capacity() : 0; }};
inline constexpr Length kPushedBodies{[](const auto& m) { return delassus_rows(m) > 0 ? m.body_count : 0; }};
inline constexpr Length kColouredSlots{[](const auto& m) { return SweepSizes::kGroupContacts * contact_groups(m); }};
inline constexpr Length kColourings{[](const auto& m) { return contact_groups(m) > 0 ? 1 : 0; }};
inline constexpr Length kColouredBodies{[](const auto& m) { return contact_groups(m) > 0 ? m.body_count : 0; }};
inline constexpr Length kColouredContacts{[](const auto& m) { return contact_groups(m) > 0 ? m.block_capacity() : 0; }};

template <typename Real, typename Form = model::Placed>
struct SweepScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kSweeps>;

  Array<Real> start_velocity{"start_velocity", kRows, Heat{53, 16}};  // J u and bias at the start of the round
  Array<Real> row_compliance{"row_compliance", kRows, Heat{59, 6}};   // of the row's own law
  Array<Real> row_mobility{"row_mobility", kRows, Heat{97}};          // (J V Jᵀ)_ii of limits and efforts
  Array<Real> start_impulse{"start_impulse", kRows, Heat{90}};        // λ at the start of the round
  Array<Real> last_impulse{"last_impulse", kRows, Heat{73, 1}};       // λ before the sweep
  Array<Real> swept_impulse{"swept_impulse", kRows, Heat{89}};  // λ after the sweep before, which momentum goes on from
  Array<Real> impulse_sum{"impulse_sum", kRows, Heat{192}};     // of the sweeps of a mean
  Array<Real> contact_block{"contact_block", 9 * kBlocks, Heat{46, 21}};  // J V Jᵀ of each contact and moment
  // inverses (invert_swept_block)
  Array<Real> contact_block_inverse{"contact_block_inverse", 3 * kBlocks, Heat{47, 8}};
  Array<int> row_bodies{"row_bodies", 2 * kSweptRows, Heat{65, 5}};  // bodies a and b of each swept row
  // change of velocities since the round's start, six a body, or eight and the world's
  Array<Real> body_velocity{"body_velocity", 8 * (kBodies + 1), Heat{99}};
  Array<Real> body_velocity_last{"body_velocity_last", 8 * (kBodies + 1), Heat{102}};  // after the last sweep
  Array<Real> row_velocity{"row_velocity", kDelassusRows, Heat{1, 28}};         // change of J u of each swept row
  Array<Real> row_velocity_last{"row_velocity_last", kDelassusRows, Heat{63}};  // after the last sweep
  Array<Real> delassus{"delassus", kDelassusNumbers, Heat{66, 44}};  // J V Jᵀ by columns, as far as they were needed
  Array<int> delassus_known{"delassus_known", kDelassusRows, Heat{43, 4}};  // whether a row's column is there
  // velocities of bodies for impulses along as many rows,
  Array<Real> push_velocity{"push_velocity", (6 * kPushLanes * kPushedBodies), Heat{49, 16}};
  // those impulses on the bodies,
  Array<Real> push_impulse{"push_impulse", (6 * kPushLanes * kPushedBodies), Heat{48, 17}};
  Array<int> push_row{"push_row", kPushLanes, Heat{6, 3}};    // those rows,
  Array<int> push_block{"push_block", kPushLanes, Heat{80}};  // the first of each that are swept together,
  Array<int> push_count{"push_count", 2, Heat{81}};           // and how many there are of both
  // whether rows that are looked at act on a body, or on one that hangs on it
  Array<int> body_touched{"body_touched", kBodies, Heat{10, 8}};
  // whether a row, or contact, was above its tolerance in the last sweep of all
  Array<int> block_unsettled{"block_unsettled", kSweptUnits, Heat{104}};
  Array<int> listed_row{"listed_row", kSweptUnits, Heat{105}};  // first rows of the units that a stretch sweeps,
  Array<int> listed_body{"listed_body", kBodies, Heat{106}};    // and bodies that they move
  // What sweeps need of contacts (coloured_contacts.hpp).
  Array<Real> packed_number{"packed_number", (SweepSizes::kPackedFields * kColouredSlots), Heat{112}};
  Array<int> packed_body{"packed_body", 2 * kColouredSlots, Heat{113}};  // bodies a, then b, of each group; nb for none
  Array<int> coloured_contact{"coloured_contact", kColouredSlots, Heat{114}};  // -1 where there is none
  // whether the last visit found it above its tolerance,
  Array<Real> coloured_unsettled{"coloured_unsettled", kColouredSlots, Heat{115}};
  Array<Real> coloured_step{"coloured_step", kColouredSlots, Heat{116}};      // |f|², by what the visit changed,
  Array<Real> coloured_along{"coloured_along", kColouredSlots, Heat{117}};    // and that along the last two sweeps
  Array<int> contact_colour{"contact_colour", kColouredContacts, Heat{118}};  // where free bodies are swept by colours
  Array<std::uint64_t> body_colours{"body_colours", kColouredBodies, Heat{119}};  // colours that a body's contacts have
  // first group of each colour: of all contacts, of those listed
  Array<int> colour_start{"colour_start", (2 * (SweepSizes::kMaxColours + 1) * kColourings), Heat{111}};
  // D of the active rows by columns, and right-hand side
  Array<Real> active_matrix{
      "active_matrix", (SweepSizes::kActiveStride * (SweepSizes::kActiveStride + 1) * kDelassusMatrices), Heat{101}};
  // of elimination, of each first of two columns
  Array<Real> active_multiplier{"active_multiplier", kDelassusRows, Heat{44, 5}};
  Array<Real> active_multiplier_next{"active_multiplier_next", kDelassusRows, Heat{94, 2}};  // and of each second
  // friction over the normal impulse, of sliding unknowns
  Array<Real> active_share{"active_share", kDelassusRows, Heat{54, 4}};
  // share of a step that the bounds of an unknown cut off
  Array<Real> active_cut{"active_cut", kDelassusRows, Heat{55, 2}};
  // the bound that an unknown meets where the step ends (ActiveBound)
  Array<int> active_bound{"active_bound", kDelassusRows, Heat{95, 1}};
  // impulses before the step, then what it changed of them
  Array<Real> active_change{"active_change", kDelassusRows, Heat{45, 5}};
  Array<int> active_row{"active_row", kDelassusRows + 1, Heat{41, 10}};  // no more than kMaxActiveRows are used
  Array<int> active_kind{"active_kind", kDelassusRows + 1, Heat{38, 5}};
  // swept rows, or first of contacts, whose impulse a step changed
  Array<int> active_changed{"active_changed", kDelassusRows + 1, Heat{42, 1}};
  // which rows of a unit are unknowns (laws::Unknowns)
  Array<int> active_state{"active_state", kDelassusUnits, Heat{88, 1}};
};

}  // namespace axion::solver
