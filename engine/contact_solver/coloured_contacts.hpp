// Contacts of free bodies laid out for sweeps: groups of sixteen, no two of which move the same body.
//
//   colour of a contact := the first that no earlier contact of its two bodies has        (greedy graph colouring)
//   contacts of each colour, in their order, fill groups of sixteen; the last group of a colour may have empty places
//
// Contacts of one colour share no body, so that they can be solved together, by lanes of vector registers or by threads
// of a GPU, with the bits of any order; a visit of a contact alone would wait for the one before it. A contact's place
// is sixteen times its group and its lane there. The numbers that a visit reads lie by field: number f of the contacts
// of a group is beside that of its fifteen neighbours. An empty place is a contact of the world with itself, whose
// velocity and mobility are zero.
//
// In: contacts, rows, the noted rows (swept_units.hpp), the joint response of free bodies. Out: coloured_contact,
// colour_start, packed_number, packed_body. Cost: linear in contacts times colours, of which piles of spheres have
// seven to nine. Called by coloured_sweeps.hpp alone.
#pragma once

#include "engine/contact_solver/swept_units.hpp"

namespace axion::solver {

// Numbers kept of a contact. Rows n, t1, t2 by threes.
enum PackedField : int {
  kPackedLinear = 0,         // l of each row
  kPackedAngularA = 9,       // k_a
  kPackedAngularB = 18,      // k_b
  kPackedResponseA = 27,     // angular velocity of a for an impulse of one along each row
  kPackedResponseB = 36,     // and of b
  kPackedInverseMass = 45,   // 1/m of a, of b
  kPackedBlock = 47,         // J V Jᵀ but for its first row
  kPackedBlockInverse = 53,  // inverses (invert_swept_block)
  kPackedFriction = 56,
  kPackedStartVelocity = 57,  // start_velocity of the rows
  kPackedCompliance = 60,
  kPackedScale = 61,      // row_scale of n and t1
  kPackedTolerance = 63,  // row_tolerance of them
  kPackedImpulse = 65,    // λ,
  kPackedLast = 68,       // after the last sweep,
  kPackedSum = 71,        // and their sum over the sweeps of a mean
};
static_assert(kPackedSum + 3 == SweepSizes::kPackedFields);

// Contacts in their places, and what a visit finds of each.
template <typename Real>
struct PackedContacts {
  ArrayView<Real> number;  // [groups kPackedFields kGroupContacts]
  ArrayView<int> body;     // [2 kGroupContacts groups] bodies a, then b, of each group; `world` for none
  ArrayView<int> contact;  // [kGroupContacts groups] -1 where there is none
  ArrayView<Real> unsettled, step, along;  // [kGroupContacts groups]
  int world, groups;                       // the number of bodies; groups that there is room for
};

template <typename Real>
AXION_HD inline PackedContacts<Real> packed_contacts(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  const auto& sweeps = w.sweeps;
  return {sweeps.packed_number,
          sweeps.packed_body,
          sweeps.coloured_contact,
          sweeps.coloured_unsettled,
          sweeps.coloured_step,
          sweeps.coloured_along,
          m.body_count,
          contact_groups(m)};
}

struct ContactColours {
  ArrayView<int> of_contact;
  ArrayView<std::uint64_t> body_colours;  // colours that a body's contacts have
  ArrayView<int> start;                   // first group of each colour: of all contacts, of those listed
  int body_count;
};

template <typename Real>
AXION_HD inline ContactColours contact_colours(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  return {w.sweeps.contact_colour, w.sweeps.body_colours, w.sweeps.colour_start, m.body_count};
}

// Groups that are swept together: those of all contacts, or of the listed ones.
struct ColouredContacts {
  int which;            // 0 all, 1 listed
  int colours, groups;  // colours is negative where they did not fit
};

AXION_HD inline const int* colour_start(const ContactColours& colours, const ColouredContacts& contacts) {
  return colours.start + contacts.which * (SweepSizes::kMaxColours + 1);
}

// Number `field` of a place.
template <typename Real>
AXION_HD inline Real& packed_number(PackedContacts<Real>& packed, int place, int field) {
  constexpr int lanes = SweepSizes::kGroupContacts;
  return packed.number[(place / lanes * SweepSizes::kPackedFields + field) * lanes + place % lanes];
}

template <typename Real>
AXION_HD inline int& packed_body(PackedContacts<Real>& packed, int place, int side) {
  constexpr int lanes = SweepSizes::kGroupContacts;
  return packed.body[(2 * (place / lanes) + side) * lanes + place % lanes];
}

// contact_colour: of each contact the first that neither of its bodies has; kMaxColours where they have all.
template <typename Real, typename Team>
AXION_HD inline void colour_contacts(const Team& team, const SweptLaws<Real>& laws, ContactColours& colours) {
  team.for_each(colours.body_count, [&](int b) { colours.body_colours[b] = 0; });
  team.for_each(1, [&](int) {
    for (int i = 0; i < laws.contact_count; ++i) {
      const int a = laws.contacts[i].body_a, b = laws.contacts[i].body_b;
      const std::uint64_t taken = colours.body_colours[a] | (b < 0 ? 0 : colours.body_colours[b]);
      int colour = 0;
      while (colour < SweepSizes::kMaxColours && (taken >> colour & 1) != 0) ++colour;
      colours.of_contact[i] = colour;
      if (colour == SweepSizes::kMaxColours) continue;
      const std::uint64_t bit = std::uint64_t(1) << colour;
      colours.body_colours[a] |= bit;
      if (b >= 0) colours.body_colours[b] |= bit;
    }
  });
}

// Places of all contacts of one list. `fill` puts the contacts of one colour into the places from a given one on and
// returns how many they are. Colours begin with group `first`, and go on until `all` have a place or none is left.
template <typename Real, typename Team, typename Fill>
AXION_HD inline ColouredContacts place_colours(const Team& team, PackedContacts<Real>& packed, ContactColours& colours,
                                               int which, int first, int all, Fill&& fill) {
  constexpr int lanes = SweepSizes::kGroupContacts;
  const int capacity = packed.groups;
  int *start = colours.start + which * (SweepSizes::kMaxColours + 1), *contact = packed.contact;
  int group = first, placed = 0, colour = 0;
  for (; placed < all && colour < SweepSizes::kMaxColours; ++colour) {
    const int place = lanes * group, count = fill(colour, place), next = group + (count + lanes - 1) / lanes;
    if (next > capacity) return {which, -1, 0};
    team.for_each(lanes * (next - group) - count, [=](int i) { contact[place + count + i] = -1; });
    team.for_each(1, [=](int) { start[colour] = group; });
    placed += count, group = next;
  }
  team.for_each(1, [=](int) { start[colour] = group; });
  return {which, placed == all ? colour : -1, group - first};
}

// Puts a contact into a place, where there is one.
template <typename Real>
AXION_HD inline void put_contact(PackedContacts<Real>& packed, int place, int contact) {
  if (place < SweepSizes::kGroupContacts * packed.groups) packed.contact[place] = contact;
}

// Places of all contacts, by colours. Their numbers are filled in by pack_contacts.
template <typename Real, typename Team>
AXION_HD_CALL ColouredContacts place_contacts(const Team& team, const SweptLaws<Real>& laws,
                                              PackedContacts<Real>& packed, ContactColours& colours) {
  colour_contacts(team, laws, colours);
  return place_colours(team, packed, colours, 0, 0, laws.contact_count, [&](int colour, int place) {
    return team.filter(
        laws.contact_count, [&](int i) { return colours.of_contact[i] == colour; },
        [&](int i, int rank) { put_contact(packed, place + rank, i); });
  });
}

// The same of the contacts of `all` for which keep(place) holds, `count` in number, in groups after theirs.
template <typename Real, typename Team, typename Keep>
AXION_HD_CALL ColouredContacts place_listed(const Team& team, PackedContacts<Real>& packed, ContactColours& colours,
                                            const ColouredContacts& all, int count, Keep&& keep) {
  const int* start = colour_start(colours, all);
  return place_colours(team, packed, colours, 1, all.groups, count, [&](int colour, int place) {
    if (colour >= all.colours) return 0;
    const int from = SweepSizes::kGroupContacts * start[colour], to = SweepSizes::kGroupContacts * start[colour + 1];
    return team.filter(
        to - from, [&](int k) { return keep(from + k); },
        [&](int k, int rank) { put_contact(packed, place + rank, packed.contact[from + k]); });
  });
}

// Rows n, t1, t2 of a contact against the body of one side, and the response to impulses along them: that of a free
// body is 1/m and a block.
template <typename Real>
struct PackedSide {
  Real angular[9], response[9], inverse_mass;
};

template <typename Real>
AXION_HD inline PackedSide<Real> pack_side(const JointResponse<Real>& joints, const model::Row<Real>* row, bool on_a,
                                           int body) {
  PackedSide<Real> side{};
  if (body < 0) return side;
  const Real *response = joints.column(body, 0),
             *block = response + 6 * 3 + 3;  // of its last three columns the last three rows
  side.inverse_mass = response[0];
  for (int r = 0; r < 3; ++r) {
    const math::Vec3<Real> k = on_a ? row[r].k_a : row[r].k_b;
    for (int c = 0; c < 3; ++c) {
      side.angular[3 * r + c] = k[c];
      side.response[3 * r + c] = block[c] * k.x + block[6 + c] * k.y + block[12 + c] * k.z;
    }
  }
  return side;
}

template <typename Real>
AXION_HD_CALL void pack_contact(const SweptLaws<Real>& laws, const SweptSystem<Real>& system, const Real* impulses,
                                const SweptGeometry<Real>& geometry, const JointResponse<Real>& joints,
                                PackedContacts<Real>& packed, int place, int i) {
  const int row = laws.contact_base() + 3 * i;
  const model::Contact<Real>& contact = laws.contacts[i];
  const PackedSide<Real> a = pack_side(joints, geometry.row + row, true, contact.body_a),
                         b = pack_side(joints, geometry.row + row, false, contact.body_b);
  const auto row_product = [](const Real* x, const Real* y, int k, int l) {
    return x[3 * k] * y[3 * l] + x[3 * k + 1] * y[3 * l + 1] + x[3 * k + 2] * y[3 * l + 2];
  };
  Real line[9], G[9], inverse[3];
  for (int k = 0; k < 9; ++k) line[k] = geometry.row[row + k / 3].l[k % 3];
  for (int k = 0; k < 9; ++k) {
    const int r = k / 3, c = k % 3;
    const Real turns = row_product(a.angular, a.response, r, c) + row_product(b.angular, b.response, r, c);
    G[k] = (a.inverse_mass + b.inverse_mass) * row_product(line, line, r, c) + turns;
  }
  invert_swept_block(G, system.row_compliance[row], laws.row_scale + row, inverse);
  Real* to = &packed_number(packed, place, 0);
  const auto put = [=](int field, int count, const Real* from) {
    for (int k = 0; k < count; ++k) to[SweepSizes::kGroupContacts * (field + k)] = from[k];
  };
  put(kPackedLinear, 9, line), put(kPackedAngularA, 9, a.angular), put(kPackedAngularB, 9, b.angular),
      put(kPackedResponseA, 9, a.response);
  put(kPackedResponseB, 9, b.response), put(kPackedInverseMass, 1, &a.inverse_mass),
      put(kPackedInverseMass + 1, 1, &b.inverse_mass), put(kPackedBlock, 6, G + 3);
  put(kPackedBlockInverse, 3, inverse), put(kPackedFriction, 1, &contact.friction),
      put(kPackedStartVelocity, 3, system.start_velocity + row);
  put(kPackedCompliance, 1, system.row_compliance + row), put(kPackedScale, 2, laws.row_scale + row);
  put(kPackedTolerance, 2, laws.row_tolerance + row), put(kPackedImpulse, 3, impulses + row);
  packed_body(packed, place, 0) = contact.body_a,
                             packed_body(packed, place, 1) = contact.body_b < 0 ? packed.world : contact.body_b;
}

// Fills the places in [first, first + count), a whole number of groups.
template <typename Real, typename Team>
AXION_HD inline void pack_contacts(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                   const Real* impulses, const SweptGeometry<Real>& geometry,
                                   const JointResponse<Real>& joints, PackedContacts<Real>& packed, int first,
                                   int count) {
  team.for_each(count, [&](int k) {
    const int place = first + k, i = packed.contact[place];
    if (i >= 0) return pack_contact(laws, system, impulses, geometry, joints, packed, place, i);
    for (int field = 0; field < SweepSizes::kPackedFields; ++field) packed_number(packed, place, field) = 0;
    packed_body(packed, place, 0) = packed_body(packed, place, 1) = packed.world;
  });
}

}  // namespace axion::solver
