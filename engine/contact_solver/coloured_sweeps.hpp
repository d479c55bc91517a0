// Sweeps over the contacts of free bodies, a group of one colour at a time (coloured_contacts.hpp).
//
//   for each colour: for all its contacts at once: v from the two bodies; its law alone; add the impulse's effect
//   between colours a barrier: two of them may move the same body
//
// ColouredSweeps is the form of sweeps that sweep_where_needed (listed_sweeps.hpp) makes of them, with the interface
// that is described there. In and out: lambda; velocities of bodies are made from it. Cost: a sweep is linear in
// contacts, and a lane's share of one visit. It has no other caller but sweep_round.hpp, which asks whether it serves.
#pragma once

#include "engine/contact_solver/coloured_contacts.hpp"
#include "engine/contact_solver/momentum.hpp"

namespace axion::solver {

// Velocities of a body in each lane: linear and angular.
template <typename Number>
struct LaneVelocities {
  Number linear[3], angular[3];
};

template <int lanes, typename Real>
AXION_HD AXION_INLINED inline LaneVelocities<lanes::Pack<Real, lanes>> load_velocities(const Real* u, const int* body) {
  lanes::Pack<Real, lanes> low[4], high[4];
  lanes::load_fours<lanes, Real>([=](int i) AXION_INLINED { return u + SweepSizes::kBodyNumbers * body[i]; }, low);
  lanes::load_fours<lanes, Real>([=](int i) AXION_INLINED { return u + SweepSizes::kBodyNumbers * body[i] + 4; }, high);
  return {{low[0], low[1], low[2]}, {low[3], high[0], high[1]}};
}

// The world's velocities stay zero: a contact without mobility adds nothing to them. Threads of a GPU leave them alone,
// as other threads write them, too.
template <int lanes, typename Real>
AXION_HD AXION_INLINED inline void store_velocities(Real* u, const int* body, int world,
                                                    const LaneVelocities<lanes::Pack<Real, lanes>>& v) {
  if constexpr (lanes == 1) {
    if (*body == world) return;
  }
  const lanes::Pack<Real, lanes> zero{}, low[4] = {v.linear[0], v.linear[1], v.linear[2], v.angular[0]};
  const lanes::Pack<Real, lanes> high[4] = {v.angular[1], v.angular[2], zero, zero};
  lanes::store_fours<lanes, Real>([=](int i) AXION_INLINED { return u + SweepSizes::kBodyNumbers * body[i]; }, low);
  lanes::store_fours<lanes, Real>([=](int i) AXION_INLINED { return u + SweepSizes::kBodyNumbers * body[i] + 4; },
                                  high);
}

// Some lanes of a group: where their numbers and bodies lie.
template <int lanes, typename Real>
struct ContactLanes {
  using Number = lanes::Pack<Real, lanes>;
  static constexpr int kWidth = SweepSizes::kGroupContacts;

  Real *numbers, *velocities;
  const int* body;
  int world;

  AXION_HD AXION_INLINED ContactLanes(PackedContacts<Real>& packed, Real* body_velocity, int place)
      : numbers(packed.number + place / kWidth * (kWidth * SweepSizes::kPackedFields) + place % kWidth),
        velocities(body_velocity),
        body(packed.body + 2 * kWidth * (place / kWidth) + place % kWidth),
        world(packed.world) {}

  AXION_HD AXION_INLINED Number at(int field) const { return lanes::load_pack<lanes>(numbers + kWidth * field); }
  AXION_HD AXION_INLINED void keep(int field, const Number& value) const {
    lanes::store_pack<lanes>(numbers + kWidth * field, value);
  }
  AXION_HD AXION_INLINED LaneVelocities<Number> side(int k) const {
    return load_velocities<lanes>(velocities, body + kWidth * k);
  }

  // Adds the effect of impulses along the rows to the velocities a and b of their bodies, and stores them.
  AXION_HD AXION_INLINED void apply_impulses(const laws::Triple<Number>& x, LaneVelocities<Number>& a,
                                             LaneVelocities<Number>& b) const {
    const auto pushed = [&](int field)
                            AXION_INLINED { return at(field) * x.n + at(field + 3) * x.x + at(field + 6) * x.y; };
    const Number mass_a = at(kPackedInverseMass), mass_b = at(kPackedInverseMass + 1);
    for (int c = 0; c < 3; ++c) {
      const Number f = pushed(kPackedLinear + c);
      a.linear[c] += mass_a * f, b.linear[c] -= mass_b * f;
      a.angular[c] += pushed(kPackedResponseA + c), b.angular[c] += pushed(kPackedResponseB + c);
    }
    store_velocities<lanes>(velocities, body, world, a);
    store_velocities<lanes>(velocities, body + kWidth, world, b);
  }
};

// Adds the effect of the impulses in `field` to the velocities of their bodies.
template <int lanes, typename Real>
AXION_HD AXION_INLINED inline void apply_contact_impulses(PackedContacts<Real>& packed, Real* body_velocity, int place,
                                                          int field) {
  const ContactLanes<lanes, Real> of(packed, body_velocity, place);
  LaneVelocities<lanes::Pack<Real, lanes>> a = of.side(0), b = of.side(1);
  of.apply_impulses({of.at(field), of.at(field + 1), of.at(field + 2)}, a, b);
}

// Visits the contacts of some lanes of a group: as visit_unit does one.
template <int lanes, typename Real>
AXION_HD AXION_INLINED inline void visit_contacts(PackedContacts<Real>& packed, Real* body_velocity, int place,
                                                  Real share) {
  using Number = lanes::Pack<Real, lanes>;
  const ContactLanes<lanes, Real> of(packed, body_velocity, place);
  const auto at = [&](int field) AXION_INLINED { return of.at(field); };
  LaneVelocities<Number> a = of.side(0), b = of.side(1);
  const laws::Triple<Number> last{at(kPackedImpulse), at(kPackedImpulse + 1), at(kPackedImpulse + 2)};
  const auto along = [&](int field, const Number* v)
                         AXION_INLINED { return at(field) * v[0] + at(field + 1) * v[1] + at(field + 2) * v[2]; };
  const Number apart[3] = {a.linear[0] - b.linear[0], a.linear[1] - b.linear[1], a.linear[2] - b.linear[2]};
  const auto velocity = [&](int row) AXION_INLINED {
    const Number turns = along(kPackedAngularA + 3 * row, a.angular) + along(kPackedAngularB + 3 * row, b.angular);
    return at(kPackedStartVelocity + row) + (along(kPackedLinear + 3 * row, apart) + turns);
  };
  const laws::Triple<Number> v{velocity(0) + at(kPackedCompliance) * last.n, velocity(1), velocity(2)};
  const laws::FrictionCone<Number> law{at(kPackedFriction), at(kPackedScale), at(kPackedScale + 1)};
  const Number G[9] = {Number{},
                       Number{},
                       Number{},
                       at(kPackedBlock),
                       at(kPackedBlock + 1),
                       at(kPackedBlock + 2),
                       at(kPackedBlock + 3),
                       at(kPackedBlock + 4),
                       at(kPackedBlock + 5)};
  const Number inverse[3] = {at(kPackedBlockInverse), at(kPackedBlockInverse + 1), at(kPackedBlockInverse + 2)};
  const Number tolerance[2] = {at(kPackedTolerance), at(kPackedTolerance + 1)};
  const auto unsettled = law.exceeds(v, last, tolerance, share);
  const laws::Triple<Number> next = law.solve_alone({G, inverse}, v, last);
  const Number n = next.n - last.n, x = next.x - last.x, y = next.y - last.y;
  of.apply_impulses({n, x, y}, a, b);
  of.keep(kPackedImpulse, next.n), of.keep(kPackedImpulse + 1, next.x), of.keep(kPackedImpulse + 2, next.y);
  const Number sliding = law.scale_t * (x * x + y * y);
  const Number turned = x * (next.x - at(kPackedLast + 1)) + y * (next.y - at(kPackedLast + 2));
  lanes::store_pack<lanes>(packed.unsettled + place, Number(unsettled ? lanes::constant<Number>(1) : Number{}));
  lanes::store_pack<lanes>(packed.step + place, Number(law.scale_n * (n * n) + sliding));
  lanes::store_pack<lanes>(packed.along + place,
                           Number(law.scale_n * (n * (next.n - at(kPackedLast))) + law.scale_t * turned));
}

// The contacts and bodies that a stretch of sweeps is over: all, or a list (listed_body).
struct SweptColours {
  ColouredContacts contacts;
  int first, blocks, bodies;  // first place; contacts
};

// What the velocities of bodies begin with, and what moves them.
template <typename Real>
struct SweptBodies {
  ArrayView<Real> velocity, velocity_last;        // kBodyNumbers a body, then the world's
  ArrayView<int> touched, listed;                 // [nb]
  const math::Vec3<Real>*du_linear, *du_angular;  // [nb] the answer of the joints alone
};

template <typename Real>
AXION_HD inline SweptBodies<Real> swept_free_bodies(const model::WorldView<Real>& w) {
  const auto& sweeps = w.sweeps;
  return {sweeps.body_velocity, sweeps.body_velocity_last, sweeps.body_touched, sweeps.listed_body, w.du_linear,
          w.du_angular};
}

template <typename Real>
struct ColouredSweeps {
  PackedContacts<Real> packed;
  ContactColours colours;
  SweptBodies<Real> bodies;
  SweptGeometry<Real> geometry;
  JointResponse<Real> joints;
  ColouredContacts all{};

  // Places of all contacts; where they do not fit, `all.colours` is negative. Serves where no body has a joint, and
  // contacts are so many that columns of the Delassus operator would be too long: packed.groups is then above zero.
  template <typename Team>
  AXION_HD_CALL void start(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                           const Real* impulses) {
    all = place_contacts(team, laws, packed, colours);
    if (all.colours < 0) return;
    pack_contacts(team, laws, system, impulses, geometry, joints, packed, 0, SweepSizes::kGroupContacts * all.groups);
    team.for_each(2 * SweepSizes::kBodyNumbers, [&](int k) {  // the world's velocity
      Real* of = k < SweepSizes::kBodyNumbers ? bodies.velocity : bodies.velocity_last;
      of[SweepSizes::kBodyNumbers * packed.world + k % SweepSizes::kBodyNumbers] = 0;
    });
  }

  // Velocities from the impulses: their change since the sweeps began moves each body by its joint response.
  template <typename Team>
  AXION_HD_CALL void renew(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                           Real* impulses) {
    team.for_each(packed.world, [&](int b) {
      Real* u = bodies.velocity + SweepSizes::kBodyNumbers * b;
      for (int c = 0; c < 3; ++c) u[c] = bodies.du_linear[b][c], u[3 + c] = bodies.du_angular[b][c];
      u[6] = u[7] = 0;
    });
    const SweptColours swept = whole(laws);
    for_impulses(team, laws, system, impulses, swept, [](Real* impulse, Real* sum, Real& lambda, Real before) {
      *impulse = lambda;
      *sum = lambda - before;
    });
    for_lanes(team, swept, [&](auto lanes, int place) AXION_INLINED {
      apply_contact_impulses<lanes>(packed, static_cast<Real*>(bodies.velocity), place, kPackedSum);
    });
  }

  // A sweep over all contacts. Returns whether one was above `share` of its tolerance. None is soft, to be lifted.
  template <typename Team>
  AXION_HD bool sweep_all(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, Real* impulses,
                          Real share, bool = false) {
    const SweptColours swept = whole(laws);
    const bool unsettled = sweep(team, laws, system, impulses, swept, share);
    keep_impulses(team, laws, system, impulses, swept);
    return unsettled;
  }

  // The contacts above their tolerance and all that touch their bodies, in groups of their own where they are few;
  // else all contacts.
  template <typename Team>
  AXION_HD_CALL SweptColours list(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                  const Real* impulses, bool local) {
    const SweptColours swept = whole(laws);
    if (!local) return swept;
    const int world = packed.world;
    const auto mark_bodies = [&] {  // of the contacts that coloured_unsettled has
      team.for_each(world, [&](int b) { bodies.touched[b] = 0; });
      for_each_place(team, swept, [&](int place) {
        if (packed.unsettled[place] == Real(0)) return;
        const int a = packed_body(packed, place, 0), b = packed_body(packed, place, 1);
        bodies.touched[a] = 1;
        if (b != world) bodies.touched[b] = 1;
      });
    };
    mark_bodies();
    team.for_each(SweepSizes::kGroupContacts * all.groups, [&](int place) {
      const int a = packed_body(packed, place, 0), b = packed_body(packed, place, 1);
      packed.unsettled[place] =
          (a != world && bodies.touched[a] != 0) || (b != world && bodies.touched[b] != 0) ? 1 : 0;
    });
    const int blocks = static_cast<int>(sum(team, packed.unsettled, swept));
    if (PileSweepParameters::kListedShare * blocks > laws.contact_count) return swept;
    const auto is_listed = [&](int place) { return packed.unsettled[place] != Real(0); };
    const ColouredContacts contacts = place_listed(team, packed, colours, all, blocks, is_listed);
    if (contacts.colours < 0) return swept;
    const int first = SweepSizes::kGroupContacts * all.groups;
    pack_contacts(team, laws, system, impulses, geometry, joints, packed, first,
                  SweepSizes::kGroupContacts * contacts.groups);
    mark_bodies();
    const int moved = team.filter(
        world, [&](int b) { return bodies.touched[b] != 0; }, [&](int b, int rank) { bodies.listed[rank] = b; });
    return {contacts, first, blocks, moved};
  }

  // The start of momentum: no sweep came before, as velocities are renewed before a sweep over all contacts.
  template <typename Team>
  AXION_HD void begin(const Team& team, const SweptLaws<Real>&, const Real*, const SweptColours& swept) {
    extrapolate_all(team, swept, Real(0), false, false);
  }

  template <typename Team>
  AXION_HD_CALL bool sweep(const Team& team, const SweptLaws<Real>&, SweptSystem<Real>&, Real*,
                           const SweptColours& swept, Real share, bool = false) {
    for_lanes(team, swept, [&](auto lanes, int place) AXION_INLINED {
      visit_contacts<lanes>(packed, static_cast<Real*>(bodies.velocity), place, share);
    });
    return sum(team, packed.unsettled, swept) > Real(0);
  }

  // Extrapolates impulses and velocities after a sweep. `means`: impulses are summed for a mean, of which this is the
  // first or not.
  template <typename Team>
  AXION_HD void accelerate(const Team& team, const SweptLaws<Real>&, Real*, const SweptColours& swept,
                           Momentum<Real>& momentum, bool means, bool first) {
    const Real size = sum(team, packed.step, swept);
    const Real m = next_coefficient(momentum, size, sum(team, packed.along, swept));
    extrapolate_all(team, swept, m, means, first);
  }

  // Impulses to the mean of `count` sweeps; velocities are renewed next.
  template <typename Team>
  AXION_HD void move_to_mean(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                             Real* impulses, const SweptColours& swept, int count) {
    for_impulses(team, laws, system, impulses, swept,
                 [count](Real* impulse, Real* sum, Real&, Real) { *impulse = *sum / Real(count); });
  }

  // Impulses from the places of contacts to their rows.
  template <typename Team>
  AXION_HD void keep_impulses(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                              Real* impulses, const SweptColours& swept) {
    for_impulses(team, laws, system, impulses, swept,
                 [](Real* impulse, Real*, Real& lambda, Real) { lambda = *impulse; });
  }

 private:
  AXION_HD SweptColours whole(const SweptLaws<Real>& laws) const { return {all, 0, laws.contact_count, packed.world}; }

  template <typename Team>
  AXION_HD static Real sum(const Team& team, const Real* of, const SweptColours& swept) {
    const Real* from = of + swept.first;
    return team.template sum<Real>(SweepSizes::kGroupContacts * swept.contacts.groups, [=](int i) { return from[i]; });
  }

  // f(place) for all contacts, one colour after another, with a barrier between two colours: they may share bodies.
  template <typename Team, typename F>
  AXION_HD void for_each_place(const Team& team, const SweptColours& swept, F&& f) const {
    const int* start = colour_start(colours, swept.contacts);
    for (int colour = 0; colour < swept.contacts.colours; ++colour) {
      const int place = SweepSizes::kGroupContacts * start[colour];
      team.for_each(SweepSizes::kGroupContacts * (start[colour + 1] - start[colour]), [&](int i) { f(place + i); });
    }
  }

  // The same by as many contacts at once as a register has lanes: f(std::integral_constant<int, lanes>, the first of
  // them).
  template <typename Team, typename F>
  AXION_HD void for_lanes(const Team& team, const SweptColours& swept, F&& f) const {
    constexpr int lanes = team::pack_lanes<Team, Real>(SweepSizes::kGroupContacts),
                  parts = SweepSizes::kGroupContacts / lanes;
    const int* start = colour_start(colours, swept.contacts);
    for (int colour = 0; colour < swept.contacts.colours; ++colour) {
      const int place = SweepSizes::kGroupContacts * start[colour], groups = start[colour + 1] - start[colour];
      team.for_each(groups * parts, [&](int i) { f(std::integral_constant<int, lanes>{}, place + lanes * i); });
    }
  }

  // f(impulse, sum, row's impulse, that before the sweeps) for the three rows of each contact; the first two in its
  // place.
  template <typename Team, typename F>
  AXION_HD void for_impulses(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                             Real* impulses, const SweptColours& swept, F&& f) {
    constexpr int width = SweepSizes::kGroupContacts;
    Real *numbers = packed.number, *lambda = impulses + laws.contact_base();
    const Real* before = system.start_impulse + laws.contact_base();
    const int* contacts = packed.contact;
    team.for_each(width * swept.contacts.groups, [=](int i) {
      const int place = swept.first + i, contact = contacts[place];
      if (contact < 0) return;
      Real* at = numbers + place / width * (width * SweepSizes::kPackedFields) + place % width;
      for (int k = 0; k < 3; ++k) {
        f(at + width * (kPackedImpulse + k), at + width * (kPackedSum + k), lambda[3 * contact + k],
          before[3 * contact + k]);
      }
    });
  }

  template <typename Team>
  AXION_HD_CALL void extrapolate_all(const Team& team, const SweptColours& swept, Real m, bool means, bool first) {
    constexpr int width = SweepSizes::kGroupContacts, lanes = team::pack_lanes<Team, Real>(width),
                  parts = width / lanes;
    Real* numbers = packed.number + swept.first * SweepSizes::kPackedFields;
    team.for_each(swept.contacts.groups * parts, [=](int i) {
      Real* at = numbers + i / parts * (width * SweepSizes::kPackedFields) + i % parts * lanes;
      for (int k = 0; k < 3; ++k, at += width) {
        const auto field = [=](int f) AXION_INLINED { return lanes::load_pack<lanes>(at + width * f); };
        const lanes::Pack<Real, lanes> g = field(kPackedImpulse), last = field(kPackedLast);
        if (means)
          lanes::store_pack<lanes>(at + width * kPackedSum,
                                   first ? g : lanes::Pack<Real, lanes>(field(kPackedSum) + g));
        if (m != Real(0)) lanes::store_pack<lanes>(at + width * kPackedImpulse, extrapolated(m, g, last));
        lanes::store_pack<lanes>(at + width * kPackedLast, g);
      }
    });
    constexpr int wide = team::pack_lanes<Team, Real>(SweepSizes::kBodyNumbers),
                  body_parts = SweepSizes::kBodyNumbers / wide;
    const int* some = swept.first != 0 ? static_cast<const int*>(bodies.listed) : nullptr;
    Real *velocity = bodies.velocity, *velocity_last = bodies.velocity_last;
    team.for_each(swept.bodies * body_parts, [=](int k) {
      const int body = k / body_parts,
                at_body = SweepSizes::kBodyNumbers * (some != nullptr ? some[body] : body) + k % body_parts * wide;
      const lanes::Pack<Real, wide> g = lanes::load_pack<wide>(velocity + at_body),
                                    last = lanes::load_pack<wide>(velocity_last + at_body);
      if (m != Real(0)) lanes::store_pack<wide>(velocity + at_body, extrapolated(m, g, last));
      lanes::store_pack<wide>(velocity_last + at_body, g);
    });
  }
};

template <typename Real>
AXION_HD inline ColouredSweeps<Real> coloured_sweeps(const Problem<Real>& p) {
  return {packed_contacts<Real>(p.m, p.w), contact_colours<Real>(p.m, p.w), swept_free_bodies<Real>(p.w),
          swept_geometry(p), JointResponse<Real>(p)};
}

}  // namespace axion::solver
