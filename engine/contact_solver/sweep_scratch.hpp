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

template <typename Real>
struct SweepScratch {
  Real* start_velocity;         // [nrow] J u and bias at the start of the round
  Real* row_compliance;         // [nrow] of the row's own law
  Real* row_mobility;           // [nrow] (J V Jᵀ)_ii of limits and efforts
  Real* start_impulse;          // [nrow] λ at the start of the round
  Real* last_impulse;           // [nrow] λ before the sweep
  Real* swept_impulse;          // [nrow] λ after the sweep before, which momentum goes on from
  Real* impulse_sum;            // [nrow] of the sweeps of a mean
  Real* contact_block;          // [9 block_capacity] J V Jᵀ of each contact and moment
  Real* contact_block_inverse;  // [3 block_capacity] inverses (invert_swept_block)
  int* row_bodies;              // [2 nswept] bodies a and b of each swept row
  // change of velocities since the round's start, six a body, or eight and the world's
  Real* body_velocity;       // [8 (nb + 1)]
  Real* body_velocity_last;  // [8 (nb + 1)] after the last sweep
  Real* row_velocity;        // [delassus_rows] change of J u of each swept row
  Real* row_velocity_last;   // [delassus_rows] after the last sweep
  Real* delassus;            // [delassus_rows^2 + 1] J V Jᵀ by columns, as far as they were needed
  int* delassus_known;       // [delassus_rows] whether a row's column is there
  Real* push_velocity;       // [nb × 6 × kPushLanes] velocities of bodies for impulses along as many rows,
  Real* push_impulse;        // [nb × 6 × kPushLanes] those impulses on the bodies,
  int* push_row;             // [kPushLanes] those rows,
  int* push_block;           // [kPushLanes] the first of each that are swept together,
  int* push_count;           // [2] and how many there are of both
  int* body_touched;         // [nb] whether rows that are looked at act on a body, or on one that hangs on it
  int* block_unsettled;  // [nswept units] whether a row, or contact, was above its tolerance in the last sweep of all
  int* listed_row;       // [nswept units] first rows of those that a stretch sweeps,
  int* listed_body;      // [nb] and bodies that they move
  // What sweeps need of contacts (coloured_contacts.hpp).
  Real* packed_number;          // [contact_groups kPackedFields kGroupContacts]
  int* packed_body;             // [2 kGroupContacts contact_groups] bodies a, then b, of each group; nb for none
  int* coloured_contact;        // [kGroupContacts contact_groups] -1 where there is none
  Real* coloured_unsettled;     // [kGroupContacts contact_groups] whether the last visit found it above its tolerance,
  Real* coloured_step;          // [kGroupContacts contact_groups] |f|², by what the visit changed,
  Real* coloured_along;         // [kGroupContacts contact_groups] and that along the last two sweeps
  int* contact_colour;          // [contact_capacity] where free bodies are swept by colours
  std::uint64_t* body_colours;  // [nb] colours that a body's contacts have
  int* colour_start;            // [2 (kMaxColours + 1)] first group of each colour: of all contacts, of those listed
  Real* active_matrix;      // [kActiveStride (kActiveStride + 1)] D of the active rows by columns, and right-hand side
  Real* active_multiplier;  // [delassus_rows] of elimination, of each first of two columns
  Real* active_multiplier_next;  // [delassus_rows] and of each second
  Real* active_share;            // [delassus_rows] friction over the normal impulse, of sliding unknowns
  Real* active_cut;              // [delassus_rows] share of a step that the bounds of an unknown cut off
  int* active_bound;             // [delassus_rows] the bound that an unknown meets where the step ends (ActiveBound)
  Real* active_change;           // [delassus_rows] impulses before the step, then what it changed of them
  int* active_row;               // [delassus_rows + 1] no more than kMaxActiveRows are used
  int* active_kind;              // [delassus_rows + 1]
  int* active_changed;           // [delassus_rows + 1] swept rows, or first of contacts, whose impulse a step changed
  int* active_state;             // [nswept units] which rows of a unit are unknowns (laws::Unknowns)
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, SweepScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nc = m.block_capacity(), nr = delassus_rows(m), nl = kPushLanes;
  const std::size_t swept = most_swept_rows(m), units = swept - 2 * nc, nrow = swept + m.lock_count + m.axis_count;
  const std::size_t pushes = nr > 0 ? 6 * nb * nl : 0, groups = contact_groups(m),
                    slots = SweepSizes::kGroupContacts * groups;
  const std::size_t coloured = groups > 0 ? 1 : 0;
  f(kSweeps, "start_velocity", w.start_velocity, nrow);
  f(kSweeps, "row_compliance", w.row_compliance, nrow);
  f(kSweeps, "row_mobility", w.row_mobility, nrow);
  f(kSweeps, "start_impulse", w.start_impulse, nrow);
  f(kSweeps, "last_impulse", w.last_impulse, nrow);
  f(kSweeps, "swept_impulse", w.swept_impulse, nrow);
  f(kSweeps, "impulse_sum", w.impulse_sum, nrow);
  f(kSweeps, "contact_block", w.contact_block, 9 * nc);
  f(kSweeps, "contact_block_inverse", w.contact_block_inverse, 3 * nc);
  f(kSweeps, "row_bodies", w.row_bodies, 2 * swept);
  f(kSweeps, "body_velocity", w.body_velocity, 8 * (nb + 1));
  f(kSweeps, "body_velocity_last", w.body_velocity_last, 8 * (nb + 1));
  f(kSweeps, "row_velocity", w.row_velocity, nr);
  f(kSweeps, "row_velocity_last", w.row_velocity_last, nr);
  f(kSweeps, "delassus", w.delassus, nr > 0 ? nr * nr + 1 : 0);
  f(kSweeps, "delassus_known", w.delassus_known, nr);
  f(kSweeps, "push_velocity", w.push_velocity, pushes);
  f(kSweeps, "push_impulse", w.push_impulse, pushes);
  f(kSweeps, "push_row", w.push_row, nl);
  f(kSweeps, "push_block", w.push_block, nl);
  f(kSweeps, "push_count", w.push_count, 2);
  f(kSweeps, "body_touched", w.body_touched, nb);
  f(kSweeps, "block_unsettled", w.block_unsettled, units);
  f(kSweeps, "listed_row", w.listed_row, units);
  f(kSweeps, "listed_body", w.listed_body, nb);
  f(kSweeps, "packed_number", w.packed_number, SweepSizes::kPackedFields * slots);
  f(kSweeps, "packed_body", w.packed_body, 2 * slots);
  f(kSweeps, "coloured_contact", w.coloured_contact, slots);
  f(kSweeps, "coloured_unsettled", w.coloured_unsettled, slots);
  f(kSweeps, "coloured_step", w.coloured_step, slots);
  f(kSweeps, "coloured_along", w.coloured_along, slots);
  f(kSweeps, "contact_colour", w.contact_colour, coloured * nc);
  f(kSweeps, "body_colours", w.body_colours, coloured * nb);
  f(kSweeps, "colour_start", w.colour_start, coloured * 2 * (SweepSizes::kMaxColours + 1));
  f(kSweeps, "active_matrix", w.active_matrix,
    nr > 0 ? SweepSizes::kActiveStride * (SweepSizes::kActiveStride + 1) : 0);
  f(kSweeps, "active_multiplier", w.active_multiplier, nr);
  f(kSweeps, "active_multiplier_next", w.active_multiplier_next, nr);
  f(kSweeps, "active_share", w.active_share, nr);
  f(kSweeps, "active_cut", w.active_cut, nr);
  f(kSweeps, "active_bound", w.active_bound, nr);
  f(kSweeps, "active_change", w.active_change, nr);
  f(kSweeps, "active_row", w.active_row, nr + 1);
  f(kSweeps, "active_kind", w.active_kind, nr + 1);
  f(kSweeps, "active_changed", w.active_changed, nr + 1);
  f(kSweeps, "active_state", w.active_state, nr > 0 ? units : 0);
}

}  // namespace axion::solver
