// adc opt --passes=narrow-rows{few=8},tidy
// Three sums of sums around a short one. The loops for longer rows are taken from the outside to the inside.

func.func @f(%x: memref<?x?xf64>, %n: index, %k: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %all = scf.parallel (%a) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %first = scf.parallel (%b) = (%c0) to (%c3) step (%c1) init (%zero) -> f64 {
      %second = scf.parallel (%c) = (%c0) to (%c3) step (%c1) init (%zero) -> f64 {
        %s = scf.parallel (%j) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
          %u = memref.load %x[%a, %j] : memref<?x?xf64>
          %v = memref.load %x[%c, %j] : memref<?x?xf64>
          %y = arith.mulf %u, %v : f64
          scf.reduce(%y : f64) {kinds = ["add"]}
        }
        %w = memref.load %x[%a, %b] : memref<?x?xf64>
        %t = arith.mulf %w, %s : f64
        scf.reduce(%t : f64) {kinds = ["add"]}
      }
      scf.reduce(%second : f64) {kinds = ["add"]}
    }
    scf.reduce(%first : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %all : f64
}

// becomes
func.func @f(%x: memref<?x?xf64>, %n: index, %k: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %c8 = arith.constant 8 : index
  %0 = arith.cmpi sle, %k, %c8 : index
  %all = scf.if %0 -> (f64) {
    %all_0 = scf.parallel (%a) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %first = scf.for %b = %c0 to %c3 step %c1 iter_args(%arg0 = %zero) -> (f64) {
        %w = memref.load %x[%a, %b] : memref<?x?xf64>
        %second = scf.for %c = %c0 to %c3 step %c1 iter_args(%arg1 = %zero) -> (f64) {
          %s = scf.for %j = %c0 to %k step %c1 iter_args(%arg2 = %zero) -> (f64) {
            %u = memref.load %x[%a, %j] : memref<?x?xf64>
            %v = memref.load %x[%c, %j] : memref<?x?xf64>
            %y = arith.mulf %u, %v : f64
            %1 = arith.addf %arg2, %y : f64
            scf.yield %1 : f64
          } {adc.unordered = true}
          %t = arith.mulf %w, %s : f64
          %2 = arith.addf %arg1, %t : f64
          scf.yield %2 : f64
        } {adc.unordered = true}
        %3 = arith.addf %arg0, %second : f64
        scf.yield %3 : f64
      } {adc.unordered = true}
      scf.reduce(%first : f64) {kinds = ["add"]}
    } {threads = true}
    scf.yield %all_0 : f64
  } else {
    %all_1 = scf.parallel (%a_0) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %first_0 = scf.parallel (%b_0) = (%c0) to (%c3) step (%c1) init (%zero) -> f64 {
        %w_0 = memref.load %x[%a_0, %b_0] : memref<?x?xf64>
        %second_0 = scf.parallel (%c_0) = (%c0) to (%c3) step (%c1) init (%zero) -> f64 {
          %s_0 = scf.parallel (%j_0) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {
            %u_0 = memref.load %x[%a_0, %j_0] : memref<?x?xf64>
            %v_0 = memref.load %x[%c_0, %j_0] : memref<?x?xf64>
            %y_0 = arith.mulf %u_0, %v_0 : f64
            scf.reduce(%y_0 : f64) {kinds = ["add"]}
          }
          %t_0 = arith.mulf %w_0, %s_0 : f64
          scf.reduce(%t_0 : f64) {kinds = ["add"]}
        }
        scf.reduce(%second_0 : f64) {kinds = ["add"]}
      }
      scf.reduce(%first_0 : f64) {kinds = ["add"]}
    } {threads = true}
    scf.yield %all_1 : f64
  }
  func.return %all : f64
}
