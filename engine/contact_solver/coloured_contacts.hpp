// Contacts of free bodies laid out for sweeps: groups of sixteen, no two of which move the same body.
//
// A visit of a contact alone waits for the one before it, and for numbers that lie apart. Contacts of one colour share
// no body, so that they can be solved together, by lanes of vector registers or by threads of a GPU, with the bits of
// any order. Colours are greedy, in the contacts' order: spheres have seven to nine. A sweep in the order of colours
// takes as many sweeps as one in any other order (METHOD.md). A contact's place in the groups is its slot. What a
// visit reads lies by field: number f of a group's sixteen contacts is [kGroupContacts f, kGroupContacts (f + 1)) of
// its numbers. Slots left over at a colour's end are of no contact, between the world and itself, whose velocity and
// mobility are zero. Called by coloured_sweeps.hpp alone.
#pragma once

#include "engine/contact_solver/contact_sweeps.hpp"

namespace axion::solver {

// Numbers of a slot. Rows n, t1, t2 by threes.
enum PackedField : int {
  kPackedLine = 0,      // l of each row
  kPackedTurnA = 9,     // k_a
  kPackedTurnB = 18,    // k_b
  kPackedMoveA = 27,    // angular velocity of a for an impulse of one along each row
  kPackedMoveB = 36,    // and of b
  kPackedMass = 45,     // 1/m of a, of b
  kPackedGain = 47,     // J V Jᵀ but for its first row
  kPackedInverse = 53,  // what solve_contact_alone divides by
  kPackedFriction = 56,
  kPackedVelocity = 57,  // what rows' velocities are measured from
  kPackedCompliance = 60,
  kPackedScale = 61,      // row_scale of n and t1
  kPackedTolerance = 63,  // row_tolerance of them
  kPackedImpulse = 65,    // λ,
  kPackedLast = 68,       // after the last sweep,
  kPackedSum = 71,        // and their sum over the sweeps of a mean
};
static_assert(kPackedSum + 3 == kPackedFields);

// Groups that are swept together: those of all contacts, or of the listed ones.
struct ColouredContacts {
  int which;            // 0 all, 1 listed
  int colours, groups;  // colours is negative where they did not fit
};

inline constexpr int kBodyNumbers = 8;  // numbers of body_velocity for a body: linear, angular, two zeros

template <typename Real>
AXION_HD inline const int* colour_start(const Problem<Real>& p, const ColouredContacts& slots) {
  return p.w.sweeps.colour_start + slots.which * (kMaxColours + 1);
}

// Number `field` of a slot.
template <typename Real>
AXION_HD inline Real& packed_number(const Problem<Real>& p, int slot, int field) {
  constexpr int lanes = kGroupContacts;
  return p.w.sweeps.packed_number[(slot / lanes * kPackedFields + field) * lanes + slot % lanes];
}

template <typename Real>
AXION_HD inline int& packed_body(const Problem<Real>& p, int slot, int side) {
  constexpr int lanes = kGroupContacts;
  return p.w.sweeps.packed_body[(2 * (slot / lanes) + side) * lanes + slot % lanes];
}

// contact_colour: of each contact the first that neither of its bodies has; kMaxColours where they have all.
template <typename Real, typename Team>
AXION_HD inline void colour_contacts(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) { p.w.sweeps.body_colours[b] = 0; });
  team.for_each(1, [&](int) {
    for (int i = 0; i < p.contact_count; ++i) {
      const int a = p.w.contacts[i].body_a, b = p.w.contacts[i].body_b;
      const std::uint64_t taken = p.w.sweeps.body_colours[a] | (b < 0 ? 0 : p.w.sweeps.body_colours[b]);
      int colour = 0;
      while (colour < kMaxColours && (taken >> colour & 1) != 0) ++colour;
      p.w.sweeps.contact_colour[i] = colour;
      if (colour == kMaxColours) continue;
      const std::uint64_t bit = std::uint64_t(1) << colour;
      p.w.sweeps.body_colours[a] |= bit;
      if (b >= 0) p.w.sweeps.body_colours[b] |= bit;
    }
  });
}

// A contact's place among its colour's: found by `place`, which fills one colour from a slot on and returns how many it
// has. Colours begin with group `first`, and go on until `all` have a place or none is left.
template <typename Real, typename Team, typename Place>
AXION_HD inline ColouredContacts place_colours(const Team& team, const Problem<Real>& p, int which, int first, int all,
                                               Place&& place) {
  constexpr int lanes = kGroupContacts;
  const int capacity = contact_groups(p.m);
  int* start = p.w.sweeps.colour_start + which * (kMaxColours + 1);
  int group = first, placed = 0, colour = 0;
  for (; placed < all && colour < kMaxColours; ++colour) {
    const int slot = lanes * group, count = place(colour, slot), next = group + (count + lanes - 1) / lanes;
    if (next > capacity) return {which, -1, 0};
    team.for_each(lanes * (next - group) - count, [=](int i) { p.w.sweeps.coloured_contact[slot + count + i] = -1; });
    team.for_each(1, [=](int) { start[colour] = group; });
    placed += count, group = next;
  }
  team.for_each(1, [=](int) { start[colour] = group; });
  return {which, placed == all ? colour : -1, group - first};
}

// Emits a contact into the slot that is its place, where there is one.
template <typename Real>
AXION_HD inline void put_contact(const Problem<Real>& p, int slot, int contact) {
  if (slot < kGroupContacts * contact_groups(p.m)) p.w.sweeps.coloured_contact[slot] = contact;
}

// Slots of all contacts, by colours. Their numbers are filled in by pack_contacts.
template <typename Real, typename Team>
AXION_HD_CALL ColouredContacts place_contacts(const Team& team, const Problem<Real>& p) {
  colour_contacts(team, p);
  return place_colours(team, p, 0, 0, p.contact_count, [&](int colour, int slot) {
    return team.filter(
        p.contact_count, [&](int i) { return p.w.sweeps.contact_colour[i] == colour; },
        [&](int i, int place) { put_contact(p, slot + place, i); });
  });
}

// The same of the contacts of `all` for which keep(slot) holds, `count` in number, in groups after theirs.
template <typename Real, typename Team, typename Keep>
AXION_HD_CALL ColouredContacts place_listed(const Team& team, const Problem<Real>& p, const ColouredContacts& all,
                                            int count, Keep&& keep) {
  const int* start = colour_start(p, all);
  return place_colours(team, p, 1, all.groups, count, [&](int colour, int slot) {
    if (colour >= all.colours) return 0;
    const int from = kGroupContacts * start[colour], to = kGroupContacts * start[colour + 1];
    return team.filter(
        to - from, [&](int k) { return keep(from + k); },
        [&](int k, int place) { put_contact(p, slot + place, p.w.sweeps.coloured_contact[from + k]); });
  });
}

// Rows n, t1, t2 of a contact against the body of one side, and what impulses along them move: V of a free body is 1/m
// and a block.
template <typename Real>
struct PackedSide {
  Real turn[9], move[9], mass;
};

template <typename Real>
AXION_HD inline PackedSide<Real> pack_side(const Problem<Real>& p, const model::Row<Real>* row, bool on_a, int body) {
  PackedSide<Real> side{};
  if (body < 0) return side;
  const Real *V = inverse_column(p, body, 0), *block = V + 6 * 3 + 3;  // of V's last three columns the last three rows
  side.mass = V[0];
  for (int r = 0; r < 3; ++r) {
    const math::Vec3<Real> k = on_a ? row[r].k_a : row[r].k_b;
    for (int c = 0; c < 3; ++c) {
      side.turn[3 * r + c] = k[c];
      side.move[3 * r + c] = block[c] * k.x + block[6 + c] * k.y + block[12 + c] * k.z;
    }
  }
  return side;
}

template <typename Real>
AXION_HD_CALL void pack_contact(const Problem<Real>& p, int slot, int i) {
  const int row = p.contact_base() + 3 * i;
  const model::Contact<Real>& contact = p.w.contacts[i];
  const PackedSide<Real> a = pack_side(p, p.w.row + row, true, contact.body_a),
                         b = pack_side(p, p.w.row + row, false, contact.body_b);
  const auto row_product = [](const Real* x, const Real* y, int k, int l) {
    return x[3 * k] * y[3 * l] + x[3 * k + 1] * y[3 * l + 1] + x[3 * k + 2] * y[3 * l + 2];
  };
  Real line[9], G[9], inverse[3];
  for (int k = 0; k < 9; ++k) line[k] = p.w.row[row + k / 3].l[k % 3];
  for (int k = 0; k < 9; ++k) {
    const int r = k / 3, c = k % 3;
    const Real turns = row_product(a.turn, a.move, r, c) + row_product(b.turn, b.move, r, c);
    G[k] = (a.mass + b.mass) * row_product(line, line, r, c) + turns;
  }
  invert_swept_block(G, p.w.sweeps.row_compliance[row], p.w.row_scale + row, inverse);
  Real* to = &packed_number(p, slot, 0);
  const auto put = [=](int field, int count, const Real* from) {
    for (int k = 0; k < count; ++k) to[kGroupContacts * (field + k)] = from[k];
  };
  put(kPackedLine, 9, line), put(kPackedTurnA, 9, a.turn), put(kPackedTurnB, 9, b.turn), put(kPackedMoveA, 9, a.move);
  put(kPackedMoveB, 9, b.move), put(kPackedMass, 1, &a.mass), put(kPackedMass + 1, 1, &b.mass),
      put(kPackedGain, 6, G + 3);
  put(kPackedInverse, 3, inverse), put(kPackedFriction, 1, &contact.friction),
      put(kPackedVelocity, 3, p.w.sweeps.start_velocity + row);
  put(kPackedCompliance, 1, p.w.sweeps.row_compliance + row), put(kPackedScale, 2, p.w.row_scale + row);
  put(kPackedTolerance, 2, p.w.row_tolerance + row), put(kPackedImpulse, 3, p.w.lambda + row);
  packed_body(p, slot, 0) = contact.body_a,
                       packed_body(p, slot, 1) = contact.body_b < 0 ? p.m.body_count : contact.body_b;
}

// Fills the slots in [first, first + count), a whole number of groups.
template <typename Real, typename Team>
AXION_HD inline void pack_contacts(const Team& team, const Problem<Real>& p, int first, int count) {
  team.for_each(count, [&](int k) {
    const int slot = first + k, i = p.w.sweeps.coloured_contact[slot];
    if (i >= 0) return pack_contact(p, slot, i);
    for (int field = 0; field < kPackedFields; ++field) packed_number(p, slot, field) = 0;
    packed_body(p, slot, 0) = packed_body(p, slot, 1) = p.m.body_count;
  });
}

}  // namespace axion::solver
