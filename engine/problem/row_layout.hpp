// Where the rows of a step's system lie: locks, axes, limits, efforts, three a contact, then three a moment.
//
// Units are the rows that have a law of their own (engine/laws), in the order of their rows: limits and efforts of one
// row each, contacts and moments, which are blocks, of three. Numbers alone: a function that is given a layout knows
// which rows there are and reads none of them.
#pragma once

#include "engine/base/macros.hpp"

namespace axion::solver {

struct RowLayout {
  int first_axis, first_limit, first_effort, first_contact;
  int contact_count;
  int moment_count;  // contacts with torsional or rolling friction, each with a block of rows of its own

  AXION_HD int axis_base() const { return first_axis; }
  AXION_HD int limit_base() const { return first_limit; }
  AXION_HD int effort_base() const { return first_effort; }
  AXION_HD int contact_base() const { return first_contact; }
  AXION_HD int moment_base() const { return first_contact + 3 * contact_count; }
  AXION_HD int limit_count() const { return first_effort - first_limit; }
  AXION_HD int effort_count() const { return first_contact - first_effort; }
  AXION_HD int block_count() const { return contact_count + moment_count; }  // of three rows each
  AXION_HD int row_count() const { return first_contact + 3 * block_count(); }

  AXION_HD int single_count() const { return first_contact - first_limit; }  // units of one row
  AXION_HD int unit_count() const { return single_count() + block_count(); }
  AXION_HD int first_row(int unit) const {
    return first_limit + (unit < single_count() ? unit : single_count() + 3 * (unit - single_count()));
  }
  AXION_HD int unit_of_row(int row) const {
    return row < first_contact ? row - first_limit : single_count() + (row - first_contact) / 3;
  }
  AXION_HD int rows_from(int row) const { return row < first_contact ? 1 : 3; }  // of the unit that begins there
};

}  // namespace axion::solver
