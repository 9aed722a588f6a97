#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "train/step.h"

namespace sluice::train {

// How the views of a program are made, so that what is written to one of them can be put into what
// it is a view of, and so that the others can be made again. A view lies in the memory of another
// tensor whatever the layout: "view", but not "reshape", which may copy.
class Views {
 public:
  // The step with this place in the program. Notes its results if they are views.
  void Add(const Step& step, std::size_t place);
  // Whether an operator makes views: it changes no numbers.
  static bool Makes(const c10::FunctionSchema& schema);

  // From here on nothing else has the memory of this value.
  void Cut(Register value) { made_.erase(value); }

  // The views from one that is none to this value, in their order. Empty if it is none.
  struct Made {
    Register of = 0;
    std::size_t step = 0;
    std::size_t output = 0;  // which of the results of the step
    bool writable = false;   // what is written to it is written to the other, and gradients too
  };
  std::vector<Made> ChainOf(Register value) const;
  // What is no view itself, and has the memory of this value.
  Register BaseOf(Register value) const;

 private:
  std::map<Register, Made> made_;
};

// The places of a tensor's elements, in a tensor of the same logical sizes.
void ReturnPlaces(Call& call);
// Of a tensor, elements of it, and their places: the tensor with these elements.
void PutBack(Call& call);

}  // namespace sluice::train
