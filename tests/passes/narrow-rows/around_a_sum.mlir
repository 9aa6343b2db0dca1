// adc opt --passes=narrow-rows{few=8},tidy
// The sum over points of the squares of sums over short windows: if there are many points, these are no short row,
// and only the sums in them are done in order.

func.func @f(%x: memref<?x?xf64>, %w: memref<?xf64>, %n: index, %k: index, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %all = scf.parallel (%r) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %row = scf.parallel (%p) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
      %s = scf.parallel (%j) = (%c0) to (%i) step (%c1) init (%zero) -> f64 {
        %at = arith.addi %p, %j : index
        %a = memref.load %x[%r, %at] : memref<?x?xf64>
        %b = memref.load %w[%j] : memref<?xf64>
        %y = arith.mulf %a, %b : f64
        scf.reduce(%y : f64) {kinds = ["add"]}
      }
      %q = arith.mulf %s, %s : f64
      scf.reduce(%q : f64) {kinds = ["add"]}
    }
    scf.reduce(%row : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %all : f64
}

// becomes
func.func @f(%x: memref<?x?xf64>, %w: memref<?xf64>, %n: index, %k: index, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c8 = arith.constant 8 : index
  %0 = arith.cmpi sle, %k, %c8 : index
  %1 = arith.cmpi sle, %i, %c8 : index
  %2 = arith.andi %0, %1 : i1
  %all = scf.if %2 -> (f64) {
    %all_0 = scf.parallel (%r) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %row = scf.for %p = %c0 to %k step %c1 iter_args(%arg0 = %zero) -> (f64) {
        %s = scf.for %j = %c0 to %i step %c1 iter_args(%arg1 = %zero) -> (f64) {
          %at = arith.addi %p, %j : index
          %a = memref.load %x[%r, %at] : memref<?x?xf64>
          %b = memref.load %w[%j] : memref<?xf64>
          %y = arith.mulf %a, %b : f64
          %3 = arith.addf %arg1, %y : f64
          scf.yield %3 : f64
        } {adc.unordered = true}
        %q = arith.mulf %s, %s : f64
        %4 = arith.addf %arg0, %q : f64
        scf.yield %4 : f64
      } {adc.unordered = true}
      scf.reduce(%row : f64) {kinds = ["add"]}
    } {threads = true}
    scf.yield %all_0 : f64
  } else {
    %all_1 = scf.parallel (%r_0) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %row_0 = scf.if %1 -> (f64) {
        %row_1 = scf.parallel (%p_0) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
          %s_0 = scf.for %j_0 = %c0 to %i step %c1 iter_args(%arg2 = %zero) -> (f64) {
            %at_0 = arith.addi %p_0, %j_0 : index
            %a_0 = memref.load %x[%r_0, %at_0] : memref<?x?xf64>
            %b_0 = memref.load %w[%j_0] : memref<?xf64>
            %y_0 = arith.mulf %a_0, %b_0 : f64
            %5 = arith.addf %arg2, %y_0 : f64
            scf.yield %5 : f64
          } {adc.unordered = true}
          %q_0 = arith.mulf %s_0, %s_0 : f64
          scf.reduce(%q_0 : f64) {kinds = ["add"]}
        }
        scf.yield %row_1 : f64
      } else {
        %row_2 = scf.parallel (%p_1) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
          %s_1 = scf.parallel (%j_1) = (%c0) to (%i) step (%c1) init (%zero) -> f64 {
            %at_1 = arith.addi %p_1, %j_1 : index
            %a_1 = memref.load %x[%r_0, %at_1] : memref<?x?xf64>
            %b_1 = memref.load %w[%j_1] : memref<?xf64>
            %y_1 = arith.mulf %a_1, %b_1 : f64
            scf.reduce(%y_1 : f64) {kinds = ["add"]}
          }
          %q_1 = arith.mulf %s_1, %s_1 : f64
          scf.reduce(%q_1 : f64) {kinds = ["add"]}
        }
        scf.yield %row_2 : f64
      }
      scf.reduce(%row_0 : f64) {kinds = ["add"]}
    } {threads = true}
    scf.yield %all_1 : f64
  }
  func.return %all : f64
}
