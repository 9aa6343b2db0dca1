// adc opt --passes=sink-lanes,tidy
// All lanes take the same side of the first branch, and each its own of the second. What is summed in a parallel loop is
// summed in order. The copy goes to all lanes, and so does the part of an array that each makes.

func.func @f(%x: memref<?xf64>, %first: i1, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.parallel (%k) = (%c0) to (%m) step (%c1) {
    %y = memref.alloc(%m) : memref<?xf64>
    memref.copy %x, %y : memref<?xf64> to memref<?xf64>
    %one = arith.constant 1.0 : f64
    memref.store %one, %y[%k] : memref<?xf64>
    %part = memref.subview %y[%c0] [%m] [%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
    %g = scf.if %first -> (f64) {
      %q = scf.parallel (%i) = (%c0) to (%m) step (%c1) init (%zero) -> (f64) {
        %v = memref.load %part[%i] : memref<?xf64, strided<[1], offset: ?>>
        scf.reduce(%v : f64) {kinds = ["add"]}
      }
      scf.yield %q : f64
    } else {
      %half = arith.constant 0.5 : f64
      scf.yield %half : f64
    }
    %large = arith.cmpf ogt, %g, %zero : f64
    scf.if %large {
      %w = math.sqrt %g : f64
      memref.store %w, %out[%k] : memref<?xf64>
      scf.yield
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %first: i1, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c-1 = arith.constant -1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %m = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.addi %m, %c-1 : index
  %1 = arith.ceildivsi %m, %c8 : index
  scf.parallel (%block) = (%c0) to (%1) step (%c1) {
    %2 = arith.muli %block, %c8 : index
    %y = memref.alloc(%m) : memref<?x8xf64>
    scf.parallel (%arg0) = (%c0) to (%m) step (%c1) {
      %3 = memref.load %x[%arg0] : memref<?xf64>
      scf.parallel (%lane) = (%c0) to (%c8) step (%c1) {
        memref.store %3, %y[%arg0, %lane] : memref<?x8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.reduce()
    }
    %part = memref.cast %y : memref<?x8xf64> to memref<?x?xf64, strided<[8, 1], offset: ?>>
    %4 = memref.alloc() : memref<8xf64>
    scf.parallel (%lane_0) = (%c0) to (%c8) step (%c1) {
      %5 = arith.addi %2, %lane_0 : index
      %6 = arith.minsi %5, %0 : index
      memref.store %one, %y[%6, %lane_0] : memref<?x8xf64>
      scf.reduce()
    } {adc.lanes = true}
    scf.if %first {
      %7 = memref.alloc() : memref<8xf64>
      scf.parallel (%lane_1) = (%c0) to (%c8) step (%c1) {
        memref.store %zero, %7[%lane_1] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.for %i = %c0 to %m step %c1 {
        scf.parallel (%lane_2) = (%c0) to (%c8) step (%c1) {
          %v = memref.load %part[%i, %lane_2] : memref<?x?xf64, strided<[8, 1], offset: ?>>
          %8 = memref.load %7[%lane_2] : memref<8xf64>
          %9 = arith.addf %8, %v fastmath<reassoc,contract> : f64
          memref.store %9, %7[%lane_2] : memref<8xf64>
          scf.reduce()
        } {adc.lanes = true}
        scf.yield
      }
      scf.parallel (%lane_3) = (%c0) to (%c8) step (%c1) {
        %10 = memref.load %7[%lane_3] : memref<8xf64>
        memref.store %10, %4[%lane_3] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    } else {
      scf.parallel (%lane_4) = (%c0) to (%c8) step (%c1) {
        memref.store %half, %4[%lane_4] : memref<8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.parallel (%lane_5) = (%c0) to (%c8) step (%c1) {
      %11 = memref.load %4[%lane_5] : memref<8xf64>
      %large = arith.cmpf ogt, %11, %zero : f64
      %12 = arith.addi %2, %lane_5 : index
      %13 = arith.minsi %12, %0 : index
      %14 = arith.cmpi sle, %12, %0 : index
      scf.if %14 {
        scf.if %large {
          %w = math.sqrt %11 : f64
          memref.store %w, %out[%13] : memref<?xf64>
          scf.yield
        }
        scf.yield
      }
      scf.reduce()
    } {adc.lanes = true}
    scf.reduce()
  }
  func.return
}
