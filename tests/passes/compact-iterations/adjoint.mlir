// adc opt --passes=compact-iterations,canonicalize,cse,dce
// What is added after the branch is zero where it is not taken: all of it is done for the numbers that were found.

func.func @f(%x: memref<?xf64>, %x_bar: memref<?xf64>, %bound: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %a = memref.load %x[%i] : memref<?xf64>
    %d = arith.subf %a, %bound : f64
    %below = arith.cmpf olt, %d, %zero : f64
    %q = scf.if %below -> (f64) {
      %b = math.exp %a : f64
      %c = math.sin %b : f64
      %e = arith.divf %c, %bound : f64
      scf.yield %e : f64
    } else {
      scf.yield %zero : f64
    }
    %g = arith.select %below, %d, %zero : f64
    %t = arith.mulf %q, %g : f64
    %u = arith.negf %t : f64
    %old = memref.load %x_bar[%i] : memref<?xf64>
    %new = arith.addf %old, %t fastmath<contract> : f64
    memref.store %new, %x_bar[%i] : memref<?xf64>
    scf.reduce(%u : f64) {kinds = ["add"]}
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %x_bar: memref<?xf64>, %bound: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c64 = arith.constant 64 : index
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %false = arith.constant false : i1
  %c512 = arith.constant 512 : index
  %cst = arith.constant -0.0 : f64
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.cmpi sge, %n, %c64 : index
  %2 = scf.if %1 -> (i1) {
    %3 = arith.floordivsi %0, %c16 : index
    %4 = scf.parallel (%sample) = (%c0) to (%c16) step (%c1) init (%c0) -> index {
      %5 = arith.muli %sample, %3 : index
      %a = memref.load %x[%5] : memref<?xf64>
      %d = arith.subf %a, %bound : f64
      %below = arith.cmpf olt, %d, %zero : f64
      %6 = arith.select %below, %c1, %c0 : index
      scf.reduce(%6 : index) {kinds = ["add"]}
    }
    %7 = arith.cmpi sle, %4, %c8 : index
    scf.yield %7 : i1
  } else {
    scf.yield %false : i1
  }
  %s = scf.if %2 -> (f64) {
    %8 = arith.ceildivsi %0, %c512 : index
    %9 = scf.parallel (%strip) = (%c0) to (%8) step (%c1) init (%zero) -> f64 {
      %10 = memref.alloc() : memref<512xindex>
      %11 = arith.muli %strip, %c512 : index
      %12 = arith.subi %0, %11 : index
      %13 = arith.minsi %12, %c512 : index
      %14 = scf.for %k = %c0 to %13 step %c1 iter_args(%count = %c0) -> (index) {
        %15 = arith.addi %11, %k : index
        %a_0 = memref.load %x[%15] : memref<?xf64>
        %d_0 = arith.subf %a_0, %bound : f64
        %below_0 = arith.cmpf olt, %d_0, %zero : f64
        %16 = arith.select %below_0, %c1, %c0 : index
        memref.store %15, %10[%count] : memref<512xindex>
        %17 = arith.addi %count, %16 : index
        scf.yield %17 : index
      }
      %18 = scf.parallel (%k_0) = (%c0) to (%14) step (%c1) init (%cst) -> f64 {
        %19 = memref.load %10[%k_0] : memref<512xindex>
        %a_1 = memref.load %x[%19] : memref<?xf64>
        %d_1 = arith.subf %a_1, %bound : f64
        %b = math.exp %a_1 : f64
        %c = math.sin %b : f64
        %e = arith.divf %c, %bound : f64
        %t = arith.mulf %e, %d_1 : f64
        %u = arith.negf %t : f64
        %old = memref.load %x_bar[%19] : memref<?xf64>
        %new = arith.addf %old, %t fastmath<contract> : f64
        memref.store %new, %x_bar[%19] : memref<?xf64>
        scf.reduce(%u : f64) {kinds = ["add"]}
      }
      scf.reduce(%18 : f64) {kinds = ["add"]}
    }
    scf.yield %9 : f64
  } else {
    %s_0 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
      %a_2 = memref.load %x[%i] : memref<?xf64>
      %d_2 = arith.subf %a_2, %bound : f64
      %below_1 = arith.cmpf olt, %d_2, %zero : f64
      %q = scf.if %below_1 -> (f64) {
        %b_0 = math.exp %a_2 : f64
        %c_0 = math.sin %b_0 : f64
        %e_0 = arith.divf %c_0, %bound : f64
        scf.yield %e_0 : f64
      } else {
        scf.yield %zero : f64
      } {adc.often = true}
      %g = arith.select %below_1, %d_2, %zero : f64
      %t_0 = arith.mulf %q, %g : f64
      %u_0 = arith.negf %t_0 : f64
      %old_0 = memref.load %x_bar[%i] : memref<?xf64>
      %new_0 = arith.addf %old_0, %t_0 fastmath<contract> : f64
      memref.store %new_0, %x_bar[%i] : memref<?xf64>
      scf.reduce(%u_0 : f64) {kinds = ["add"]}
    }
    scf.yield %s_0 : f64
  }
  func.return %s : f64
}
